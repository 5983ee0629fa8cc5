"""The clients of operators: `AdminClient` with methods that block, `AsyncAdminClient` with the same ones to await."""

from __future__ import annotations

from types import TracebackType
from typing import Callable

import httpx

from .admin_methods import AdminMethods, AsyncAdminMethods
from .answers import AnswerInfo
from .drivers import AsyncDriver, Driver
from .logic.addresses import BaseUrl
from .logic.admin import AdminLogic
from .logic.credentials import TokenCredentials
from .logic.requests import NO_RETRY, Options, Requests
from .logic.retry import RetryPolicy


class AdminClient(AdminMethods):
    """The exchange with an operator's token. Threads may share one."""

    def __init__(
        self,
        base_url: BaseUrl,
        token: str,
        *,
        timeout_sec: float = 10.0,
        retry: RetryPolicy | None = RetryPolicy(),
        on_answer: Callable[[AnswerInfo], None] | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        """Reads are repeated as those of `Client`; a change only after an answer that nothing was done."""
        options = Options(timeout_sec, retry or NO_RETRY, on_answer)
        self._driver = Driver(http)
        self._logic = AdminLogic(Requests(base_url, TokenCredentials(token), options))

    def close(self) -> None:
        """Closes the connections."""
        self._driver.close()

    def __enter__(self) -> AdminClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncAdminClient(AsyncAdminMethods):
    """The same client with methods to await, for one event loop."""

    def __init__(
        self,
        base_url: BaseUrl,
        token: str,
        *,
        timeout_sec: float = 10.0,
        retry: RetryPolicy | None = RetryPolicy(),
        on_answer: Callable[[AnswerInfo], None] | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """Like `AdminClient`."""
        options = Options(timeout_sec, retry or NO_RETRY, on_answer)
        self._driver = AsyncDriver(http)
        self._logic = AdminLogic(Requests(base_url, TokenCredentials(token), options))

    async def close(self) -> None:
        """Closes the connections."""
        await self._driver.close()

    async def __aenter__(self) -> AsyncAdminClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
