"""The clients: `Client` with methods that block, `AsyncClient` with the same ones to await.

Their methods are those of `logic`, of which one driver each does the sending and waiting.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable

import httpx

from .answers import AnswerInfo
from .cash import AsyncCash, Cash
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
from .logic.session import OnChange, Session, SignInWallet, signing_in
from .logic.market_orders import MarketOrderLogic
from .orders import Wallet
from .placed import AsyncPlacedOrder, PlacedOrder
from .signing import ApiKey
from .stream import AsyncOrderSocket, AsyncStream, ConnectionTimes, OrderSocket, Stream


def _options(
    timeout_sec: float, retry: RetryPolicy | None, on_answer: Callable[[AnswerInfo], None] | None, content_keys: bool
) -> Options:
    return Options(timeout_sec, retry or NO_RETRY, on_answer, content_keys)


def _one_of(api_key: ApiKey | None, session: Session | None) -> ApiKey | Session | None:
    if api_key is not None and session is not None:
        raise TypeError("a client has an API key or a session, and not both")
    return api_key if session is None else session


def sign_in(
    base_url: BaseUrl,
    wallet: SignInWallet,
    *,
    domain: str | None = None,
    referral_code: str | None = None,
    on_change: OnChange | None = None,
) -> Session:
    """Signs in with a wallet, or up: `Client(base_url, session=sign_in(base_url, wallet), wallet=wallet)`.

    The wallet signs a message (EIP-4361) only if that names it and the host of `base_url`, or `domain`, which is that
    of the exchange's pages. `on_change` gets the tokens, to be kept for a later run (`Session(base_url, tokens)`).
    """
    driver = Driver()
    try:
        return driver.run(signing_in(base_url, wallet, domain, referral_code, on_change))
    finally:
        driver.close()


async def sign_in_async(
    base_url: BaseUrl,
    wallet: SignInWallet,
    *,
    domain: str | None = None,
    referral_code: str | None = None,
    on_change: OnChange | None = None,
) -> Session:
    """The same function to await."""
    driver = AsyncDriver()
    try:
        return await driver.run(signing_in(base_url, wallet, domain, referral_code, on_change))
    finally:
        await driver.close()


class Client(Runs[MarketOrderLogic]):
    """The exchange with methods that block. Threads may share one."""

    def __init__(
        self,
        base_url: BaseUrl,
        *,
        api_key: ApiKey | None = None,
        session: Session | None = None,
        wallet: Wallet | None = None,
        timeout_sec: float = 10.0,
        retry: RetryPolicy | None = RetryPolicy(),
        on_answer: Callable[[AnswerInfo], None] | None = None,
        content_keys: bool = True,
        http: httpx.Client | None = None,
    ) -> None:
        """`base_url` is the address of the exchange, or of a cluster those of its members.

        Without an API key or a session (`sign_in`) only the public methods work. The wallet signs the orders of
        `place`. `timeout_sec` is of one attempt; `retry=None` is for a single one. `http` brings connections of your
        own, for a proxy or certificates.
        """
        requests = Requests(base_url, _one_of(api_key, session), _options(timeout_sec, retry, on_answer, content_keys))
        self._driver = Driver(http)
        self._logic = MarketOrderLogic(
            requests,
            wallet,
            lambda intent, signed, answer: PlacedOrder(
                PlacedOrderLogic(self._logic, intent, signed, answer), self._driver
            ),
        )
        self.cash = Cash(requests, self._driver)
        """Cashing in and out."""

    @property
    def clock_offset_sec(self) -> float:
        """Seconds that the exchange's clock is ahead, as they are used to sign; 0 until a difference is known."""
        return self._logic.requests.clock.offset_sec

    def open_stream(self, times: ConnectionTimes = ConnectionTimes()) -> Stream:
        """A stream of the same account: books and private events, on a thread of their own. Its owner closes it."""
        return Stream(self._logic.requests.with_options(), times)

    def open_order_socket(self, times: ConnectionTimes = ConnectionTimes()) -> OrderSocket:
        """A socket that takes the client's requests about orders from now on, until it is closed by its owner.

        They are signed once, answered as over HTTP, and sent over HTTP while the socket is away.
        """
        return OrderSocket(self._logic.requests, times)

    def start_heartbeats(self, every_sec: float = EVERY_SEC, on_lapse: OnLapse | None = None) -> Heartbeats:
        """Arms the dead man's switch of the whole account, and sends heartbeats until the result is closed."""
        return Heartbeats(self._logic.requests, self._driver, every_sec, on_lapse)

    def close(self) -> None:
        """Closes the connections."""
        self._driver.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    time = blocking(MarketOrderLogic.time)
    measure_clock = blocking(MarketOrderLogic.measure_clock)
    platform_config = blocking(MarketOrderLogic.platform_config)
    refresh_config = blocking(MarketOrderLogic.refresh_config)
    signing_domain = blocking(MarketOrderLogic.signing_domain)
    market = blocking(MarketOrderLogic.market)
    markets = blocking(MarketOrderLogic.markets)
    events = blocking(MarketOrderLogic.events)
    book = blocking(MarketOrderLogic.book)
    both_books = blocking(MarketOrderLogic.both_books)
    bbo = blocking(MarketOrderLogic.bbo)
    bbos = blocking(MarketOrderLogic.bbos)
    tick_size = blocking(MarketOrderLogic.tick_size)
    fee_rate = blocking(MarketOrderLogic.fee_rate)
    ticker = blocking(MarketOrderLogic.ticker)
    tickers = blocking(MarketOrderLogic.tickers)
    candles = blocking(MarketOrderLogic.candles)
    order_market = blocking(MarketOrderLogic.order_market)
    profile = blocking(MarketOrderLogic.profile)
    balances = blocking(MarketOrderLogic.balances)
    rate_limits = blocking(MarketOrderLogic.rate_limits)
    user_orders = blocking(MarketOrderLogic.user_orders)
    user_trades = blocking(MarketOrderLogic.user_trades)
    user_activity = blocking(MarketOrderLogic.user_activity)
    statement = blocking(MarketOrderLogic.statement)
    positions = blocking(MarketOrderLogic.positions)
    trade_settlement = blocking(MarketOrderLogic.trade_settlement)
    redeemable = blocking(MarketOrderLogic.redeemable)
    claim = blocking(MarketOrderLogic.claim)
    split = blocking(MarketOrderLogic.split)
    merge = blocking(MarketOrderLogic.merge)
    nonce_floor = blocking(MarketOrderLogic.nonce_floor)
    cancel_ever_signed = blocking(MarketOrderLogic.cancel_ever_signed)
    place = giving(PlacedOrder, blocking(MarketOrderLogic.place))
    preview_market = blocking(MarketOrderLogic.preview_market)
    buy = giving(PlacedOrder, blocking(MarketOrderLogic.buy))
    sell = giving(PlacedOrder, blocking(MarketOrderLogic.sell))
    sessions = blocking(MarketOrderLogic.sessions)
    end_session = blocking(MarketOrderLogic.end_session)
    end_all_sessions = blocking(MarketOrderLogic.end_all_sessions)
    sign_out = blocking(MarketOrderLogic.sign_out)
    sign_order = blocking(MarketOrderLogic.sign_order)
    place_order = blocking(MarketOrderLogic.place_order)
    place_orders = blocking(MarketOrderLogic.place_orders)
    cancel_replace = blocking(MarketOrderLogic.cancel_replace)
    amend_order = blocking(MarketOrderLogic.amend_order)
    cancel_order = blocking(MarketOrderLogic.cancel_order)
    cancel_with_tombstone = blocking(MarketOrderLogic.cancel_with_tombstone)
    cancel_by_client_id = blocking(MarketOrderLogic.cancel_by_client_id)
    cancel_orders = blocking(MarketOrderLogic.cancel_orders)
    cancel_all = blocking(MarketOrderLogic.cancel_all)
    cancel_market = blocking(MarketOrderLogic.cancel_market)
    get_order = blocking(MarketOrderLogic.get_order)
    queue_position = blocking(MarketOrderLogic.queue_position)
    order_groups = blocking(MarketOrderLogic.order_groups)
    set_order_group = blocking(MarketOrderLogic.set_order_group)
    reset_order_group = blocking(MarketOrderLogic.reset_order_group)
    heartbeat = blocking(MarketOrderLogic.heartbeat)
    all_markets = iterated(MarketOrderLogic.all_markets)
    all_events = iterated(MarketOrderLogic.all_events)
    all_candles = iterated(MarketOrderLogic.all_candles)
    all_user_orders = iterated(MarketOrderLogic.all_user_orders)
    all_user_trades = iterated(MarketOrderLogic.all_user_trades)
    all_user_activity = iterated(MarketOrderLogic.all_user_activity)
    all_fund_movements = iterated(MarketOrderLogic.all_fund_movements)
    all_notifications = iterated(MarketOrderLogic.all_notifications)
    all_open_orders = iterated(MarketOrderLogic.all_open_orders)


class AsyncClient(AsyncRuns[MarketOrderLogic]):
    """The exchange with methods to await, of one event loop."""

    def __init__(
        self,
        base_url: BaseUrl,
        *,
        api_key: ApiKey | None = None,
        session: Session | None = None,
        wallet: Wallet | None = None,
        timeout_sec: float = 10.0,
        retry: RetryPolicy | None = RetryPolicy(),
        on_answer: Callable[[AnswerInfo], None] | None = None,
        content_keys: bool = True,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """Like `Client`. If a task is cancelled, the outcome of its request is unknown."""
        requests = Requests(base_url, _one_of(api_key, session), _options(timeout_sec, retry, on_answer, content_keys))
        self._driver = AsyncDriver(http)
        self._logic = MarketOrderLogic(
            requests,
            wallet,
            lambda intent, signed, answer: AsyncPlacedOrder(
                PlacedOrderLogic(self._logic, intent, signed, answer), self._driver
            ),
        )
        self.cash = AsyncCash(requests, self._driver)
        """Cashing in and out."""

    @property
    def clock_offset_sec(self) -> float:
        """Seconds that the exchange's clock is ahead, as they are used to sign; 0 until a difference is known."""
        return self._logic.requests.clock.offset_sec

    def open_stream(self, times: ConnectionTimes = ConnectionTimes()) -> AsyncStream:
        """A stream of the same account: books and private events, in the running event loop. Its owner closes it."""
        return AsyncStream(self._logic.requests.with_options(), times)

    async def open_order_socket(self, times: ConnectionTimes = ConnectionTimes()) -> AsyncOrderSocket:
        """A socket that takes the client's requests about orders from now on, until it is closed by its owner.

        They are signed once, answered as over HTTP, and sent over HTTP while the socket is away.
        """
        socket = AsyncOrderSocket(self._logic.requests, times)
        await socket.start()
        return socket

    async def start_heartbeats(self, every_sec: float = EVERY_SEC, on_lapse: OnLapse | None = None) -> AsyncHeartbeats:
        """Arms the dead man's switch of the whole account, and sends heartbeats until the result is closed."""
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

    time = awaited(MarketOrderLogic.time)
    measure_clock = awaited(MarketOrderLogic.measure_clock)
    platform_config = awaited(MarketOrderLogic.platform_config)
    refresh_config = awaited(MarketOrderLogic.refresh_config)
    signing_domain = awaited(MarketOrderLogic.signing_domain)
    market = awaited(MarketOrderLogic.market)
    markets = awaited(MarketOrderLogic.markets)
    events = awaited(MarketOrderLogic.events)
    book = awaited(MarketOrderLogic.book)
    both_books = awaited(MarketOrderLogic.both_books)
    bbo = awaited(MarketOrderLogic.bbo)
    bbos = awaited(MarketOrderLogic.bbos)
    tick_size = awaited(MarketOrderLogic.tick_size)
    fee_rate = awaited(MarketOrderLogic.fee_rate)
    ticker = awaited(MarketOrderLogic.ticker)
    tickers = awaited(MarketOrderLogic.tickers)
    candles = awaited(MarketOrderLogic.candles)
    order_market = awaited(MarketOrderLogic.order_market)
    profile = awaited(MarketOrderLogic.profile)
    balances = awaited(MarketOrderLogic.balances)
    rate_limits = awaited(MarketOrderLogic.rate_limits)
    user_orders = awaited(MarketOrderLogic.user_orders)
    user_trades = awaited(MarketOrderLogic.user_trades)
    user_activity = awaited(MarketOrderLogic.user_activity)
    statement = awaited(MarketOrderLogic.statement)
    positions = awaited(MarketOrderLogic.positions)
    trade_settlement = awaited(MarketOrderLogic.trade_settlement)
    redeemable = awaited(MarketOrderLogic.redeemable)
    claim = awaited(MarketOrderLogic.claim)
    split = awaited(MarketOrderLogic.split)
    merge = awaited(MarketOrderLogic.merge)
    nonce_floor = awaited(MarketOrderLogic.nonce_floor)
    cancel_ever_signed = awaited(MarketOrderLogic.cancel_ever_signed)
    place = giving_async(AsyncPlacedOrder, awaited(MarketOrderLogic.place))
    preview_market = awaited(MarketOrderLogic.preview_market)
    buy = giving_async(AsyncPlacedOrder, awaited(MarketOrderLogic.buy))
    sell = giving_async(AsyncPlacedOrder, awaited(MarketOrderLogic.sell))
    sessions = awaited(MarketOrderLogic.sessions)
    end_session = awaited(MarketOrderLogic.end_session)
    end_all_sessions = awaited(MarketOrderLogic.end_all_sessions)
    sign_out = awaited(MarketOrderLogic.sign_out)
    sign_order = awaited(MarketOrderLogic.sign_order)
    place_order = awaited(MarketOrderLogic.place_order)
    place_orders = awaited(MarketOrderLogic.place_orders)
    cancel_replace = awaited(MarketOrderLogic.cancel_replace)
    amend_order = awaited(MarketOrderLogic.amend_order)
    cancel_order = awaited(MarketOrderLogic.cancel_order)
    cancel_with_tombstone = awaited(MarketOrderLogic.cancel_with_tombstone)
    cancel_by_client_id = awaited(MarketOrderLogic.cancel_by_client_id)
    cancel_orders = awaited(MarketOrderLogic.cancel_orders)
    cancel_all = awaited(MarketOrderLogic.cancel_all)
    cancel_market = awaited(MarketOrderLogic.cancel_market)
    get_order = awaited(MarketOrderLogic.get_order)
    queue_position = awaited(MarketOrderLogic.queue_position)
    order_groups = awaited(MarketOrderLogic.order_groups)
    set_order_group = awaited(MarketOrderLogic.set_order_group)
    reset_order_group = awaited(MarketOrderLogic.reset_order_group)
    heartbeat = awaited(MarketOrderLogic.heartbeat)
    all_markets = iterated_async(MarketOrderLogic.all_markets)
    all_events = iterated_async(MarketOrderLogic.all_events)
    all_candles = iterated_async(MarketOrderLogic.all_candles)
    all_user_orders = iterated_async(MarketOrderLogic.all_user_orders)
    all_user_trades = iterated_async(MarketOrderLogic.all_user_trades)
    all_user_activity = iterated_async(MarketOrderLogic.all_user_activity)
    all_fund_movements = iterated_async(MarketOrderLogic.all_fund_movements)
    all_notifications = iterated_async(MarketOrderLogic.all_notifications)
    all_open_orders = iterated_async(MarketOrderLogic.all_open_orders)
