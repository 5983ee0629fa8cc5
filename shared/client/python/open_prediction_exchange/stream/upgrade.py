"""Opening a socket of an account: with a signed upgrade, or with a ticket of its session."""

from __future__ import annotations

from typing import Mapping
from urllib.parse import quote

from ..drivers import AsyncDriver
from ..errors import ApiError, ExchangeError
from ..logic.requests import NO_RETRY, Requests

STREAM_PATH = "/v1/ws"


class Upgrade:
    """The part of a connection's handler that decides its address and its credentials."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests.with_options(retry=NO_RETRY)

    async def upgrade(self) -> tuple[str, Mapping[str, str]]:
        """Address and headers of the next connection: a nonce and a ticket are good once. ExchangeError without."""
        credentials = self._requests.credentials
        if credentials is None:
            return self._url(), {}
        driver = AsyncDriver()
        try:
            ticket = await driver.run(credentials.ticket())
            if ticket is not None:
                return f"{self._url()}?ticket={quote(ticket, safe='')}", {}
            return self._url(), await driver.run(credentials.headers("GET", STREAM_PATH, b""))
        finally:
            await driver.close()

    def _url(self) -> str:
        return "ws" + self._requests.addresses.current[len("http") :] + STREAM_PATH

    def move_on(self) -> None:
        """The next connection is tried at another member of a cluster."""
        addresses = self._requests.addresses
        addresses.move_from(addresses.current)

    async def permanent_error(self) -> Exception | None:
        """The reason why no connection could be opened, from the answer to the same request without an upgrade."""
        if self._requests.credentials is None:
            return None
        driver = AsyncDriver()
        try:
            await driver.run(self._requests.send("GET", STREAM_PATH))
        except ApiError as error:
            return error if error.status in (401, 403) else None
        except ExchangeError:
            return None
        finally:
            await driver.close()
        return None
