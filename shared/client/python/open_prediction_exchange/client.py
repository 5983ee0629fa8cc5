"""The clients: `Client` with methods that block, `AsyncClient` with the same ones to await.

Their methods are those of `logic`, of which one driver each does the sending and waiting.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable

import httpx

from .answers import AnswerInfo
from .drivers import (
    AsyncDriver,
    AsyncRuns,
    Driver,
    Runs,
    awaited,
    blocking,
    giving,
    giving_async,
    iterated,
    iterated_async,
)
from .heartbeats import EVERY_SEC, AsyncHeartbeats, Heartbeats, OnLapse
from .logic.addresses import BaseUrl
from .logic.placed_order import PlacedOrderLogic
from .logic.requests import NO_RETRY, Options, Requests
from .logic.retry import RetryPolicy
from .logic.trading import TradingLogic
from .orders import Wallet
from .placed import AsyncPlacedOrder, PlacedOrder
from .signing import ApiKey
from .stream import AsyncStream, ConnectionTimes, Stream


def _options(
    timeout_sec: float, retry: RetryPolicy | None, on_answer: Callable[[AnswerInfo], None] | None, content_keys: bool
) -> Options:
    return Options(timeout_sec, retry or NO_RETRY, on_answer, content_keys)


class Client(Runs[TradingLogic]):
    """The exchange with methods that block. Threads may share one."""

    def __init__(
        self,
        base_url: BaseUrl,
        *,
        api_key: ApiKey | None = None,
        wallet: Wallet | None = None,
        timeout_sec: float = 10.0,
        retry: RetryPolicy | None = RetryPolicy(),
        on_answer: Callable[[AnswerInfo], None] | None = None,
        content_keys: bool = True,
        http: httpx.Client | None = None,
    ) -> None:
        """`base_url` is the address of the exchange, or of a cluster those of its members.

        Without an API key only the public methods work. The wallet signs the orders of `place`. `timeout_sec` is of one
        attempt; `retry=None` is for a single one. `http` brings connections of your own, for a proxy or certificates.
        """
        requests = Requests(base_url, api_key, _options(timeout_sec, retry, on_answer, content_keys))
        self._driver = Driver(http)
        self._logic = TradingLogic(
            requests,
            wallet,
            lambda intent, signed, answer: PlacedOrder(
                PlacedOrderLogic(self._logic, intent, signed, answer), self._driver
            ),
        )

    @property
    def clock_offset_sec(self) -> float:
        """Seconds that the exchange's clock is ahead, as they are used to sign; 0 until a difference is known."""
        return self._logic.requests.clock.offset_sec

    def open_stream(self, times: ConnectionTimes = ConnectionTimes()) -> Stream:
        """A stream of the same account: books and private events, on a thread of their own. Its owner closes it."""
        return Stream(self._logic.requests.with_options(), times)

    def start_heartbeats(self, every_sec: float = EVERY_SEC, on_lapse: OnLapse | None = None) -> Heartbeats:
        """Arms the dead man's switch of the whole account, and keeps it from going off until the result is closed."""
        return Heartbeats(self._logic.requests, self._driver, every_sec, on_lapse)

    def close(self) -> None:
        """Closes the connections."""
        self._driver.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    time = blocking(TradingLogic.time)
    measure_clock = blocking(TradingLogic.measure_clock)
    platform_config = blocking(TradingLogic.platform_config)
    refresh_config = blocking(TradingLogic.refresh_config)
    signing_domain = blocking(TradingLogic.signing_domain)
    market = blocking(TradingLogic.market)
    markets = blocking(TradingLogic.markets)
    events = blocking(TradingLogic.events)
    book = blocking(TradingLogic.book)
    both_books = blocking(TradingLogic.both_books)
    bbo = blocking(TradingLogic.bbo)
    bbos = blocking(TradingLogic.bbos)
    tick_size = blocking(TradingLogic.tick_size)
    fee_rate = blocking(TradingLogic.fee_rate)
    ticker = blocking(TradingLogic.ticker)
    tickers = blocking(TradingLogic.tickers)
    candles = blocking(TradingLogic.candles)
    order_market = blocking(TradingLogic.order_market)
    profile = blocking(TradingLogic.profile)
    balances = blocking(TradingLogic.balances)
    rate_limits = blocking(TradingLogic.rate_limits)
    user_orders = blocking(TradingLogic.user_orders)
    user_trades = blocking(TradingLogic.user_trades)
    user_activity = blocking(TradingLogic.user_activity)
    statement = blocking(TradingLogic.statement)
    positions = blocking(TradingLogic.positions)
    trade_settlement = blocking(TradingLogic.trade_settlement)
    redeemable = blocking(TradingLogic.redeemable)
    claim = blocking(TradingLogic.claim)
    split = blocking(TradingLogic.split)
    merge = blocking(TradingLogic.merge)
    nonce_floor = blocking(TradingLogic.nonce_floor)
    cancel_ever_signed = blocking(TradingLogic.cancel_ever_signed)
    place = giving(PlacedOrder, blocking(TradingLogic.place))
    sign_order = blocking(TradingLogic.sign_order)
    place_order = blocking(TradingLogic.place_order)
    place_orders = blocking(TradingLogic.place_orders)
    cancel_replace = blocking(TradingLogic.cancel_replace)
    amend_order = blocking(TradingLogic.amend_order)
    cancel_order = blocking(TradingLogic.cancel_order)
    cancel_with_tombstone = blocking(TradingLogic.cancel_with_tombstone)
    cancel_by_client_id = blocking(TradingLogic.cancel_by_client_id)
    cancel_orders = blocking(TradingLogic.cancel_orders)
    cancel_all = blocking(TradingLogic.cancel_all)
    cancel_market = blocking(TradingLogic.cancel_market)
    get_order = blocking(TradingLogic.get_order)
    queue_position = blocking(TradingLogic.queue_position)
    order_groups = blocking(TradingLogic.order_groups)
    set_order_group = blocking(TradingLogic.set_order_group)
    reset_order_group = blocking(TradingLogic.reset_order_group)
    heartbeat = blocking(TradingLogic.heartbeat)
    all_markets = iterated(TradingLogic.all_markets)
    all_events = iterated(TradingLogic.all_events)
    all_candles = iterated(TradingLogic.all_candles)
    all_user_orders = iterated(TradingLogic.all_user_orders)
    all_user_trades = iterated(TradingLogic.all_user_trades)
    all_user_activity = iterated(TradingLogic.all_user_activity)
    all_fund_movements = iterated(TradingLogic.all_fund_movements)
    all_notifications = iterated(TradingLogic.all_notifications)
    all_open_orders = iterated(TradingLogic.all_open_orders)


class AsyncClient(AsyncRuns[TradingLogic]):
    """The exchange with methods to await, of one event loop."""

    def __init__(
        self,
        base_url: BaseUrl,
        *,
        api_key: ApiKey | None = None,
        wallet: Wallet | None = None,
        timeout_sec: float = 10.0,
        retry: RetryPolicy | None = RetryPolicy(),
        on_answer: Callable[[AnswerInfo], None] | None = None,
        content_keys: bool = True,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """As `Client`. A task that is cancelled leaves open what became of its request."""
        requests = Requests(base_url, api_key, _options(timeout_sec, retry, on_answer, content_keys))
        self._driver = AsyncDriver(http)
        self._logic = TradingLogic(
            requests,
            wallet,
            lambda intent, signed, answer: AsyncPlacedOrder(
                PlacedOrderLogic(self._logic, intent, signed, answer), self._driver
            ),
        )

    @property
    def clock_offset_sec(self) -> float:
        """Seconds that the exchange's clock is ahead, as they are used to sign; 0 until a difference is known."""
        return self._logic.requests.clock.offset_sec

    def open_stream(self, times: ConnectionTimes = ConnectionTimes()) -> AsyncStream:
        """A stream of the same account: books and private events, in the running event loop. Its owner closes it."""
        return AsyncStream(self._logic.requests.with_options(), times)

    async def start_heartbeats(self, every_sec: float = EVERY_SEC, on_lapse: OnLapse | None = None) -> AsyncHeartbeats:
        """Arms the dead man's switch of the whole account, and keeps it from going off until the result is closed."""
        heartbeats = AsyncHeartbeats(self._logic.requests, self._driver, every_sec, on_lapse)
        await heartbeats.start()
        return heartbeats

    async def close(self) -> None:
        """Closes the connections."""
        await self._driver.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    time = awaited(TradingLogic.time)
    measure_clock = awaited(TradingLogic.measure_clock)
    platform_config = awaited(TradingLogic.platform_config)
    refresh_config = awaited(TradingLogic.refresh_config)
    signing_domain = awaited(TradingLogic.signing_domain)
    market = awaited(TradingLogic.market)
    markets = awaited(TradingLogic.markets)
    events = awaited(TradingLogic.events)
    book = awaited(TradingLogic.book)
    both_books = awaited(TradingLogic.both_books)
    bbo = awaited(TradingLogic.bbo)
    bbos = awaited(TradingLogic.bbos)
    tick_size = awaited(TradingLogic.tick_size)
    fee_rate = awaited(TradingLogic.fee_rate)
    ticker = awaited(TradingLogic.ticker)
    tickers = awaited(TradingLogic.tickers)
    candles = awaited(TradingLogic.candles)
    order_market = awaited(TradingLogic.order_market)
    profile = awaited(TradingLogic.profile)
    balances = awaited(TradingLogic.balances)
    rate_limits = awaited(TradingLogic.rate_limits)
    user_orders = awaited(TradingLogic.user_orders)
    user_trades = awaited(TradingLogic.user_trades)
    user_activity = awaited(TradingLogic.user_activity)
    statement = awaited(TradingLogic.statement)
    positions = awaited(TradingLogic.positions)
    trade_settlement = awaited(TradingLogic.trade_settlement)
    redeemable = awaited(TradingLogic.redeemable)
    claim = awaited(TradingLogic.claim)
    split = awaited(TradingLogic.split)
    merge = awaited(TradingLogic.merge)
    nonce_floor = awaited(TradingLogic.nonce_floor)
    cancel_ever_signed = awaited(TradingLogic.cancel_ever_signed)
    place = giving_async(AsyncPlacedOrder, awaited(TradingLogic.place))
    sign_order = awaited(TradingLogic.sign_order)
    place_order = awaited(TradingLogic.place_order)
    place_orders = awaited(TradingLogic.place_orders)
    cancel_replace = awaited(TradingLogic.cancel_replace)
    amend_order = awaited(TradingLogic.amend_order)
    cancel_order = awaited(TradingLogic.cancel_order)
    cancel_with_tombstone = awaited(TradingLogic.cancel_with_tombstone)
    cancel_by_client_id = awaited(TradingLogic.cancel_by_client_id)
    cancel_orders = awaited(TradingLogic.cancel_orders)
    cancel_all = awaited(TradingLogic.cancel_all)
    cancel_market = awaited(TradingLogic.cancel_market)
    get_order = awaited(TradingLogic.get_order)
    queue_position = awaited(TradingLogic.queue_position)
    order_groups = awaited(TradingLogic.order_groups)
    set_order_group = awaited(TradingLogic.set_order_group)
    reset_order_group = awaited(TradingLogic.reset_order_group)
    heartbeat = awaited(TradingLogic.heartbeat)
    all_markets = iterated_async(TradingLogic.all_markets)
    all_events = iterated_async(TradingLogic.all_events)
    all_candles = iterated_async(TradingLogic.all_candles)
    all_user_orders = iterated_async(TradingLogic.all_user_orders)
    all_user_trades = iterated_async(TradingLogic.all_user_trades)
    all_user_activity = iterated_async(TradingLogic.all_user_activity)
    all_fund_movements = iterated_async(TradingLogic.all_fund_movements)
    all_notifications = iterated_async(TradingLogic.all_notifications)
    all_open_orders = iterated_async(TradingLogic.all_open_orders)
