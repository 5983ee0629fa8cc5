"""An account's reads and changes about money and history."""

from __future__ import annotations

import uuid
from datetime import date, datetime
from typing import Any, Callable, Literal, Sequence, TypeVar

from ..amounts import units_text
from ..decoding import decode, json_name
from ..models import OwnSessions, RevokedSessions, SessionMessage
from ..models import AccountMovement, Activity, Balances, ClaimResponse, FullSets, FundMovements, NonceFloor
from ..models import Notifications, Notification, Position, Profile, RateLimits, Redeemable, Statement, TradeSettlement
from ..models import UserActivity, UserOrder, UserOrders, UserTrade, UserTrades
from ..orders import Side
from .market_data import MarketDataLogic
from .pages import Pager
from .requests import QueryValue, segment, with_query
from .session import Session
from .steps import Steps

T = TypeVar("T")
Since = datetime | date | str | None
MOVEMENTS_A_PAGE = 100


class AccountLogic(MarketDataLogic):
    """The account of the API key."""

    def _get(self, kind: type[T], path: str, **query: QueryValue) -> Steps[T]:
        named = {json_name(name): value for name, value in query.items()}
        return decode(kind, (yield from self.requests.send("GET", with_query(path, named))))

    def _paged(self, kind: type[T], path: str, rows: Callable[[T], Sequence[Any]], **query: QueryValue) -> Pager[Any]:
        def read(cursor: Any) -> Steps[tuple[Sequence[Any], Any]]:
            page: Any = yield from self._get(kind, path, **query, cursor=cursor)
            return rows(page), page.next_cursor

        return Pager(read)

    def profile(self) -> Steps[Profile]:
        """The profile of the account, with its wallets."""
        return self._get(Profile, "/v1/user/profile")

    def balances(self) -> Steps[Balances]:
        """USDC and tokens, available and reserved by open orders: in micro-USDC and atomic tokens."""
        return self._get(Balances, "/v1/user/balances")

    def sessions(self) -> Steps[OwnSessions]:
        """The sessions of the account that are in force, the one opened last first."""
        return self._get(OwnSessions, "/v1/auth/sessions")

    def end_session(self, session_id: str) -> Steps[SessionMessage]:
        """Ends one of them; NotFoundError if there is none."""
        path = f"/v1/auth/sessions/{segment(session_id)}"
        return decode(SessionMessage, (yield from self.requests.send("DELETE", path)))

    def end_all_sessions(self) -> Steps[RevokedSessions]:
        """Ends all of them, including the session that asks."""
        return decode(RevokedSessions, (yield from self.requests.send("POST", "/v1/auth/revoke-all")))

    def sign_out(self) -> Steps[None]:
        """Ends the session of this client. TypeError for one with an API key."""
        credentials = self.requests.credentials
        if not isinstance(credentials, Session):
            raise TypeError("this client has no session")
        return credentials.sign_out()

    def rate_limits(self) -> Steps[RateLimits]:
        """The requests that the key's limits still allow, by endpoint."""
        return self._get(RateLimits, "/v1/rate-limits")

    def user_orders(
        self,
        *,
        status: str | None = None,
        side: Side | None = None,
        since: Since = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Steps[UserOrders]:
        """A page of the account's orders, newest first; `next_cursor` as `cursor` leads to the next one.

        `status` is a list such as "open,filled". `since` is itself included.
        """
        query = dict(status=status, side=side, limit=limit, cursor=cursor)
        return self._get(UserOrders, "/v1/user/orders/v2", **query, since=since)

    def all_user_orders(
        self, *, status: str | None = None, side: Side | None = None, since: Since = None
    ) -> Pager[UserOrder]:
        """Every matching order of the account, newest first."""
        query = dict(status=status, side=side)
        return self._paged(UserOrders, "/v1/user/orders/v2", lambda page: page.orders, **query, since=since, limit=200)

    def user_trades(
        self,
        *,
        market_id: str | None = None,
        side: Side | None = None,
        since: Since = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Steps[UserTrades]:
        """A page of the account's fills, newest first, from its own side."""
        query = dict(market_id=market_id, side=side, limit=limit, cursor=cursor)
        return self._get(UserTrades, "/v1/user/trades/v2", **query, since=since)

    def all_user_trades(
        self, *, market_id: str | None = None, side: Side | None = None, since: Since = None
    ) -> Pager[UserTrade]:
        """Every matching fill of the account, newest first."""
        query = dict(market_id=market_id, side=side)
        return self._paged(UserTrades, "/v1/user/trades/v2", lambda page: page.trades, **query, since=since, limit=100)

    def user_activity(
        self,
        *,
        market_id: str | None = None,
        type: Literal["fill", "placed", "cancelled", "expired"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Steps[UserActivity]:
        """A page of the events of the account's orders: placed, cancelled or expired, and fills."""
        return self._get(UserActivity, "/v1/user/activity", market_id=market_id, type=type, limit=limit, cursor=cursor)

    def all_user_activity(
        self,
        *,
        market_id: str | None = None,
        type: Literal["fill", "placed", "cancelled", "expired"] | None = None,
    ) -> Pager[Activity]:
        """All events of the account's orders, newest first."""
        query = dict(market_id=market_id, type=type)
        return self._paged(UserActivity, "/v1/user/activity", lambda page: page.activity, **query, limit=100)

    def statement(self, *, start: Since = None, end: Since = None) -> Steps[Statement]:
        """Everything that moved the account's balances, with its opening and closing balance.

        From `start`, from the first entry on if it is None, to before `end`, the present if it is None.
        """
        return self._get(Statement, "/v1/user/statement", from_=start, to=end)

    def all_fund_movements(self) -> Pager[AccountMovement]:
        """Every deposit and withdrawal, newest first, in micro-USDC."""

        def read(cursor: Any) -> Steps[tuple[Sequence[AccountMovement], Any]]:
            offset = cursor or 0
            page = yield from self._get(FundMovements, "/v1/user/fund-movements", limit=MOVEMENTS_A_PAGE, offset=offset)
            return page.movements, offset + MOVEMENTS_A_PAGE if len(page.movements) == MOVEMENTS_A_PAGE else None

        return Pager(read)

    def all_notifications(self) -> Pager[Notification]:
        """Every notification, newest first."""
        return self._paged(Notifications, "/v1/notifications", lambda page: page.items, limit=100)

    def positions(self, *, market_id: str | None = None) -> Steps[tuple[Position, ...]]:
        """The account's tokens with their cost and gain, in atomic tokens and USDC."""
        kind: type[tuple[Position, ...]] = tuple[Position, ...]
        return self._get(kind, "/v1/user/positions", market_id=market_id)

    def trade_settlement(self, trade_id: str) -> Steps[TradeSettlement]:
        """The progress of a trade of the account on the chain, with the time of every step."""
        return self._get(TradeSettlement, f"/v1/trades/{segment(trade_id)}/settlement")

    def redeemable(self) -> Steps[tuple[Redeemable, ...]]:
        """Tokens of decided markets that have a payout."""
        kind: type[tuple[Redeemable, ...]] = tuple[Redeemable, ...]
        return self._get(kind, "/v1/user/redeemable")

    def claim(self, market_id: str) -> Steps[ClaimResponse]:
        """Exchanges all tokens of a decided market for their payout, in micro-USDC."""
        path = f"/v1/user/positions/{segment(market_id)}/claim"
        return decode(ClaimResponse, (yield from self.requests.send("POST", path)))

    def split(self, market_id: str, amount_atomic: int, *, idempotency_key: str | None = None) -> Steps[FullSets]:
        """Turns USDC into as many Yes and No tokens, in atomic units and a whole number of lots.

        Each call is a split of its own, whose attempts share a random key. To repeat one that was never answered, give
        each of its calls the same key.
        """
        return self._convert("split", market_id, amount_atomic, idempotency_key)

    def merge(self, market_id: str, amount_atomic: int, *, idempotency_key: str | None = None) -> Steps[FullSets]:
        """Turns as many Yes and No tokens into USDC, in atomic units; keys as for `split`."""
        return self._convert("merge", market_id, amount_atomic, idempotency_key)

    def _convert(self, movement: str, market_id: str, amount_atomic: int, key: str | None) -> Steps[FullSets]:
        path = f"/v1/markets/{segment(market_id)}/{movement}"
        headers = {"idempotency-key": key or str(uuid.uuid4())}
        payload = {"amount": units_text(amount_atomic)}
        answer = yield from self.requests.send("POST", path, payload, headers, "harmless")
        return decode(FullSets, answer)

    def nonce_floor(self, address: str) -> Steps[NonceFloor]:
        """The least nonce with which orders of the wallet may be signed."""
        return self._get(NonceFloor, f"/v1/wallets/{segment(address)}/nonce-floor")

    def cancel_ever_signed(self, address: str) -> Steps[NonceFloor]:
        """Cancels everything that the wallet has signed with the nonce floor of now, sent or not.

        It needs a key with `manage:account`.
        """
        floor = (yield from self.nonce_floor(address)).nonce_floor + 1
        path = f"/v1/wallets/{segment(address)}/nonce-floor"
        answer = yield from self.requests.send("POST", path, {"nonce_floor": floor}, repeat="harmless")
        return decode(NonceFloor, answer)
