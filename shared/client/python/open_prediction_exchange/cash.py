"""Cashing in and out with a `Client` or an `AsyncClient`: its member `cash`."""

from __future__ import annotations

from .cash_methods import AsyncCashMethods, CashMethods
from .drivers import AsyncDriver, Driver
from .logic.cash import CashLogic
from .logic.requests import Requests


class Cash(CashMethods):
    """The member `cash` of a `Client`."""

    def __init__(self, requests: Requests, driver: Driver) -> None:
        self._logic = CashLogic(requests)
        self._driver = driver


class AsyncCash(AsyncCashMethods):
    """The member `cash` of an `AsyncClient`."""

    def __init__(self, requests: Requests, driver: AsyncDriver) -> None:
        self._logic = CashLogic(requests)
        self._driver = driver
