"""The orders that `place` gives, with methods that block or that are awaited."""

from __future__ import annotations

from .amounts import Amount
from .drivers import AsyncDriver, AsyncRuns, Driver, HasLogic, Runs, awaited, blocking
from .logic.placed_order import PlacedOrderLogic
from .models import PlacementResponse
from .orders import Body


class OrderFacts(HasLogic[PlacedOrderLogic]):
    """The facts about an order that are known without a request."""

    @property
    def hash(self) -> str:
        """The order hash, by which the order can be found, whatever happened to its answer."""
        return self._logic.signed.order_hash

    @property
    def body(self) -> Body:
        """The signed order: `client.place_order(order.body)` gives the first answer and no second order."""
        return self._logic.signed.body

    @property
    def answer(self) -> PlacementResponse | None:
        """None if the answer was lost."""
        return self._logic.answer

    def __repr__(self) -> str:
        answer = self._logic.answer
        intent = self._logic.intent
        status = "not answered" if answer is None else answer.status
        return f"<order {self.hash}: {intent.side} of outcome {intent.outcome_index}, {status}>"


class PlacedOrder(OrderFacts, Runs[PlacedOrderLogic]):
    """An order that was sent."""

    def __init__(self, logic: PlacedOrderLogic, driver: Driver) -> None:
        self._logic = logic
        self._driver = driver

    record = blocking(PlacedOrderLogic.record)
    wait = blocking(PlacedOrderLogic.wait)
    cancel = blocking(PlacedOrderLogic.cancel)

    def amend(self, *, price: Amount | None = None, size: Amount | None = None) -> PlacedOrder:
        """Changes the price, the size or both of the quantity still to be filled; the result replaces this order."""
        placed: PlacedOrder = self._driver.run(self._logic.amend(price=price, size=size))
        return placed

    def replace(self, *, price: Amount | None = None, size: Amount | None = None) -> PlacedOrder:
        """Cancels it and places one with another price or size in one step, or does neither."""
        placed: PlacedOrder = self._driver.run(self._logic.replace(price=price, size=size))
        return placed


class AsyncPlacedOrder(OrderFacts, AsyncRuns[PlacedOrderLogic]):
    """An order that was sent by an `AsyncClient`."""

    def __init__(self, logic: PlacedOrderLogic, driver: AsyncDriver) -> None:
        self._logic = logic
        self._driver = driver

    record = awaited(PlacedOrderLogic.record)
    wait = awaited(PlacedOrderLogic.wait)
    cancel = awaited(PlacedOrderLogic.cancel)

    async def amend(self, *, price: Amount | None = None, size: Amount | None = None) -> AsyncPlacedOrder:
        """Changes the price, the size or both of the quantity still to be filled; the result replaces this order."""
        placed: AsyncPlacedOrder = await self._driver.run(self._logic.amend(price=price, size=size))
        return placed

    async def replace(self, *, price: Amount | None = None, size: Amount | None = None) -> AsyncPlacedOrder:
        """Cancels it and places one with another price or size in one step, or does neither."""
        placed: AsyncPlacedOrder = await self._driver.run(self._logic.replace(price=price, size=size))
        return placed
