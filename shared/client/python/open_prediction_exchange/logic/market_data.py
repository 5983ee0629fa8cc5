"""The reads of markets, events, books and prices: public, but counted on the account's limit where there is a key."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Sequence, TypeVar

from ..decoding import decode
from ..errors import ExchangeError
from ..models import Bbo, Bbos, Book, BothBooks, Candle, Candles, FeeRate, Market, MarketEvent, MarketEvents, Markets
from ..models import PlatformConfig, ServerTime, Ticker, Tickers, TickSize
from ..orders import OrderMarket, Outcome
from ..signing import Domain
from .pages import Pager
from .requests import NO_RETRY, QueryValue, Requests, segment, with_query
from .steps import Steps

T = TypeVar("T")
EVENTS_A_PAGE = 100


class MarketDataLogic:
    """One method for each public route."""

    def __init__(self, requests: Requests) -> None:
        self.requests = requests
        self.config: PlatformConfig | None = None

    def _read(self, kind: type[T], path: str, **query: QueryValue) -> Steps[T]:
        return decode(kind, (yield from self.requests.read(with_query(path, query))))

    def time(self) -> Steps[ServerTime]:
        """Unix seconds of the exchange, in one attempt."""
        return decode(ServerTime, (yield from self.requests.public("GET", "/v1/time", retry=NO_RETRY)))

    def measure_clock(self) -> Steps[float]:
        """Reads the exchange's clock and signs by it from now on.

        What it is ahead, in seconds, right to about half a second and half the time of the request.
        """
        clock = self.requests.clock
        sent = clock.own()
        return clock.measured((yield from self.time()).time, sent)

    def platform_config(self) -> Steps[PlatformConfig]:
        """Chain, contracts and signing domain; read once and kept."""
        return self.config if self.config is not None else (yield from self.refresh_config())

    def refresh_config(self) -> Steps[PlatformConfig]:
        """Reads the platform's config now, and keeps it."""
        self.config = decode(PlatformConfig, (yield from self.requests.public("GET", "/v1/platform/config")))
        return self.config

    def signing_domain(self) -> Steps[Domain]:
        """The EIP-712 domain that orders are signed for, of the config that is kept."""
        config = yield from self.platform_config()
        given = config.eip712_domain
        return Domain(given.name, given.version, config.chain_id, config.exchange_address)

    def market(self, market_id: str) -> Steps[Market]:
        """One market with its status, times, tokens and fee; NotFoundError if it is unknown or not public yet."""
        return self._read(Market, f"/v1/markets/{segment(market_id)}")

    def markets(
        self,
        *,
        status: str | None = None,
        category: str | None = None,
        search: str | None = None,
        sort: str | None = None,
        order: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Steps[Markets]:
        """A page of the markets that fit; `next_cursor` as `cursor` leads to the next one. At most 100."""
        query = dict(status=status, category=category, search=search, sort=sort, order=order)
        return self._read(Markets, "/v1/markets", **query, limit=limit, cursor=cursor)

    def all_markets(
        self,
        *,
        status: str | None = None,
        category: str | None = None,
        search: str | None = None,
        sort: str | None = None,
        order: str | None = None,
    ) -> Pager[Market]:
        """Every market that fits, page after page."""
        query = dict(status=status, category=category, search=search, sort=sort, order=order)

        def read(cursor: Any) -> Steps[tuple[Sequence[Market], Any]]:
            page = yield from self._read(Markets, "/v1/markets", **query, limit=100, cursor=cursor)
            return page.markets, page.next_cursor

        return Pager(read)

    def events(
        self,
        *,
        status: str | None = None,
        category: str | None = None,
        search: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Steps[MarketEvents]:
        """A page of the events that fit. At most 100."""
        query = dict(status=status, category=category, search=search)
        return self._read(MarketEvents, "/v1/events", **query, limit=limit, offset=offset)

    def all_events(
        self, *, status: str | None = None, category: str | None = None, search: str | None = None
    ) -> Pager[MarketEvent]:
        """Every event that fits, page after page."""

        def read(cursor: Any) -> Steps[tuple[Sequence[MarketEvent], Any]]:
            offset = cursor or 0
            query = dict(status=status, category=category, search=search)
            page = yield from self._read(MarketEvents, "/v1/events", **query, limit=EVENTS_A_PAGE, offset=offset)
            return page.events, offset + EVENTS_A_PAGE if len(page.events) == EVENTS_A_PAGE else None

        return Pager(read)

    def book(self, market_id: str, outcome_index: Outcome | None = None, *, levels: int | None = None) -> Steps[Book]:
        """The levels of one outcome, best first: 20 unless `levels` says another number up to 100."""
        path = f"/v1/orders/book/{segment(market_id)}"
        return self._read(Book, path, outcome_index=outcome_index, levels=levels)

    def both_books(self, market_id: str, *, levels: int | None = None) -> Steps[BothBooks]:
        """The levels of both outcomes at the same moment."""
        return self._read(BothBooks, f"/v1/orders/book/{segment(market_id)}", both=True, levels=levels)

    def bbo(self, market_id: str, outcome_index: Outcome | None = None) -> Steps[Bbo]:
        """The best bid and ask of one outcome, in USDC per token; None where a side is empty."""
        return self._read(Bbo, f"/v1/market-data/{segment(market_id)}/bbo", outcome_index=outcome_index)

    def bbos(self, markets: Sequence[tuple[str, Outcome]]) -> Steps[Bbos]:
        """Best prices of at most 50 books, all at the same moment: (market_id, outcome_index) of each."""
        payload = [{"market_id": market_id, "outcome_index": outcome} for market_id, outcome in markets]
        return decode(Bbos, (yield from self.requests.public("POST", "/v1/market-data/bbo", payload)))

    def tick_size(self, market_id: str) -> Steps[TickSize]:
        """The grid: ticks to one USDC, and the least lot and order in atomic tokens."""
        return self._read(TickSize, f"/v1/market-data/{segment(market_id)}/tick-size")

    def fee_rate(self, market_id: str) -> Steps[FeeRate]:
        """Its `maker_fee_bps`, in basis points, is the fee that orders are signed with. It needs an API key."""
        path = f"/v1/market-data/{segment(market_id)}/fee-rate"
        return decode(FeeRate, (yield from self.requests.send("GET", path)))

    def ticker(self, market_id: str, outcome_index: Outcome | None = None) -> Steps[Ticker]:
        """The last price, what was traded in 24 hours, and the best prices, of one outcome."""
        return self._read(Ticker, f"/v1/markets/{segment(market_id)}/ticker", outcome_index=outcome_index)

    def tickers(self) -> Steps[Tickers]:
        """The tickers of Yes of every market that is not decided, all of one moment."""
        return self._read(Tickers, "/v1/tickers")

    def candles(
        self,
        market_id: str,
        *,
        interval: str | None = None,
        outcome_index: Outcome | None = None,
        start: datetime | str | None = None,
        end: datetime | str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Steps[Candles]:
        """The trading of a market by interval (1m, 5m, 15m, 1h, 4h, 1d), oldest first.

        `next_cursor` as `cursor` leads to the intervals before. Those without a trade have no prices.
        """
        query: dict[str, QueryValue] = {"from": start, "to": end, "outcome_index": outcome_index}
        path = f"/v1/markets/{segment(market_id)}/candles"
        return self._read(Candles, path, interval=interval, limit=limit, cursor=cursor, **query)

    def all_candles(
        self,
        market_id: str,
        *,
        interval: str | None = None,
        outcome_index: Outcome | None = None,
        start: datetime | str | None = None,
        end: datetime | str | None = None,
    ) -> Pager[Candle]:
        """Every interval from the newest back to `start`, newest first."""

        def read(cursor: Any) -> Steps[tuple[Sequence[Candle], Any]]:
            options = dict(interval=interval, outcome_index=outcome_index, start=start, end=end, cursor=cursor)
            page = yield from self.candles(market_id, **options)
            return page.candles[::-1], page.next_cursor

        return Pager(read)

    def order_market(self, market_id: str) -> Steps[OrderMarket]:
        """The parts of a market that signing needs, from its record and its tick size."""
        market = yield from self.market(market_id)
        grid = yield from self.tick_size(market_id)
        if market.yes_token_id is None or market.no_token_id is None:
            raise ExchangeError(f"market {market.id} has no tokens yet")
        return OrderMarket(market.id, market.yes_token_id, market.no_token_id, grid.ticks_per_unit)
