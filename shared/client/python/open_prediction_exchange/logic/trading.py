"""Orders: signed with what is in force, placed, replaced, cancelled and read."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any, Callable, Mapping, Sequence, TypeVar

from ..amounts import units_text
from ..answers import leaves_open
from ..decoding import decode
from ..errors import ApiError, ExchangeError, UnknownOutcomeError
from ..models import AmendResponse, BatchCancelResponse, BatchPlaceResponse, CancelAllResponse, CancelMarketResponse
from ..models import CancelReplaceResponse, HeartbeatResponse, Message, OrderGroup, OrderGroups, OrderRecord
from ..models import PlacementResponse, QueuePosition, TombstoneResponse
from ..orders import Body, Intent, OrderMarket, OrderSigner, Outcome, SignedOrder, Wallet, draft_order
from ..signing import Domain
from ..signing import idempotency_key as key_of_content
from .account import AccountLogic
from .pages import Pager
from .requests import Requests, json_text, segment, with_query
from .steps import Steps

T = TypeVar("T")
OF_CONTENT = "content"
"""In place of an Idempotency-Key: it is made of the content. None is for no key."""
ORDERS_A_PAGE = 500


@dataclass
class _Kept:
    """What signing needs, read once. The grid of a market never changes, its fee may."""

    market: OrderMarket
    fee_rate_bps: int


class TradingLogic(AccountLogic):
    """The orders of the API key's account."""

    def __init__(
        self,
        requests: Requests,
        wallet: Wallet | None,
        order_of: Callable[[Intent, SignedOrder, PlacementResponse | None], Any],
    ) -> None:
        super().__init__(requests)
        self.order_of = order_of
        self._wallet = wallet
        self._signer: OrderSigner | None = None
        self._markets: dict[str, _Kept] = {}
        self._floors: dict[str, int] = {}

    def place(
        self,
        intent: Intent,
        *,
        maker: str | None = None,
        salt: int | None = None,
        idempotency_key: str | None = OF_CONTENT,
        deadline_ms: int | None = None,
    ) -> Steps[Any]:
        """Signs an order with the client's wallet and places it.

        Raises an ApiError if it is refused, and an UnknownOutcomeError, which has the order, if no answer of the
        exchange came. Each call is an order of its own, unless `salt` makes it the same. After `deadline_ms`, in Unix
        milliseconds by the clock of the exchange, the order is refused instead of booked late.
        """
        for is_last in (False, True):
            signed = yield from self.sign_order(intent, maker=maker, salt=salt)
            try:
                answer = yield from self.place_order(
                    signed.body, idempotency_key=idempotency_key, deadline_ms=deadline_ms
                )
                return self.order_of(intent, signed, answer)
            except ExchangeError as error:
                if leaves_open(error):
                    raise UnknownOutcomeError(error, self.order_of(intent, signed, None)) from error
                if is_last or not (yield from self._is_refreshed(error, intent, maker)):
                    raise
        raise AssertionError("the last attempt ends")

    def sign_order(self, intent: Intent, *, maker: str | None = None, salt: int | None = None) -> Steps[SignedOrder]:
        """The order that `place` would send: for `place_orders`, `cancel_replace`, `amend_order`, or to keep."""
        signer = yield from self._order_signer()
        kept = yield from self._market(intent.market_id)
        nonce = intent.nonce if intent.nonce is not None else (yield from self._floor(maker or signer.address))
        fee = kept.fee_rate_bps if intent.fee_rate_bps is None else intent.fee_rate_bps
        return signer.sign(draft_order(intent, kept.market, fee, nonce), maker=maker, salt=salt)

    def place_order(
        self, body: Body, *, idempotency_key: str | None = OF_CONTENT, deadline_ms: int | None = None
    ) -> Steps[PlacementResponse]:
        """Places a signed order. The same body again gives the answer of the first time, and no second order."""
        return self._placing(PlacementResponse, "POST", "/v1/orders", body, idempotency_key, deadline_ms)

    def place_orders(
        self, bodies: Sequence[Body], *, idempotency_key: str | None = OF_CONTENT, deadline_ms: int | None = None
    ) -> Steps[BatchPlaceResponse]:
        """At most 15 signed orders; each succeeds or fails by itself."""
        payload = {"orders": list(bodies)}
        return self._placing(BatchPlaceResponse, "POST", "/v1/orders/batch", payload, idempotency_key, deadline_ms)

    def cancel_replace(
        self,
        cancel_hash: str,
        new_order: Body,
        *,
        expected_remaining: int | None = None,
        idempotency_key: str | None = OF_CONTENT,
        deadline_ms: int | None = None,
    ) -> Steps[CancelReplaceResponse]:
        """Cancels the old order and places the new one in one step; when the new one is refused, the old one stays.

        RemainingChangedError unless the old one has `expected_remaining`, in units of what it gives.
        """
        payload: Any = {"cancel_hash": cancel_hash, "new_order": new_order, **_expecting(expected_remaining)}
        path = "/v1/orders/cancel-replace"
        return self._placing(CancelReplaceResponse, "POST", path, payload, idempotency_key, deadline_ms)

    def amend_order(
        self,
        order_hash: str,
        new_order: Body,
        *,
        expected_remaining: int | None = None,
        idempotency_key: str | None = OF_CONTENT,
        deadline_ms: int | None = None,
    ) -> Steps[AmendResponse]:
        """Replaces an order by one of the same outcome and side, for what is still to be filled.

        It keeps its time priority where only the size shrinks.
        """
        payload: Any = {"new_order": new_order, **_expecting(expected_remaining)}
        path = f"/v1/orders/{segment(order_hash)}/amend"
        return self._placing(AmendResponse, "PUT", path, payload, idempotency_key, deadline_ms)

    def cancel_order(self, order_hash: str) -> Steps[Message]:
        """Cancels what is left of an open order. OrderNotCancellableError if it is closed, NotFoundError without it."""
        return decode(Message, (yield from self.requests.send("DELETE", f"/v1/orders/{segment(order_hash)}")))

    def cancel_with_tombstone(self, order_hash: str) -> Steps[Message | TombstoneResponse]:
        """The same; an order that has not arrived yet is refused until the time that the answer names."""
        answer = yield from self.requests.send("DELETE", f"/v1/orders/{segment(order_hash)}?tombstone=1")
        if "tombstone_until" in answer:
            return decode(TombstoneResponse, answer)
        return decode(Message, answer)

    def cancel_by_client_id(self, client_order_id: str) -> Steps[Message]:
        """Cancels the open order of this client order id; NotFoundError if there is none."""
        path = f"/v1/orders/by-client-id/{segment(client_order_id)}"
        return decode(Message, (yield from self.requests.send("DELETE", path)))

    def cancel_orders(
        self, order_hashes: Sequence[str], *, idempotency_key: str | None = None
    ) -> Steps[BatchCancelResponse]:
        """At most 200 orders; each cancel succeeds or fails by itself.

        Each call has a key of its own, because a cancel that is meant again must reach the book.
        """
        payload = {"order_hashes": list(order_hashes)}
        key = idempotency_key or str(uuid.uuid4())
        return self._placing(BatchCancelResponse, "DELETE", "/v1/orders/batch", payload, key, None)

    def cancel_all(self) -> Steps[CancelAllResponse]:
        """Cancels the open orders of all keys and sessions of the account; `cancelled` counts them."""
        return decode(CancelAllResponse, (yield from self.requests.send("DELETE", "/v1/orders/cancel-all")))

    def cancel_market(self, market_id: str, outcome_index: Outcome | None = None) -> Steps[CancelMarketResponse]:
        """Cancels the account's orders in a market: of both outcomes, or of the one that is given."""
        outcome: dict[str, Any] = {} if outcome_index is None else {"outcome_index": outcome_index}
        payload = {"market_id": market_id, **outcome}
        answer = yield from self.requests.send("DELETE", "/v1/orders/cancel-market", payload)
        return decode(CancelMarketResponse, answer)

    def get_order(self, order_hash: str) -> Steps[OrderRecord]:
        """The order with its status and what is left of it, in units of what its maker gives."""
        return self._get(OrderRecord, f"/v1/orders/{segment(order_hash)}")

    def queue_position(self, order_hash: str) -> Steps[QueuePosition]:
        """The queue position of an open order at its price."""
        return self._get(QueuePosition, f"/v1/orders/{segment(order_hash)}/queue")

    def all_open_orders(self, market_id: str) -> Pager[OrderRecord]:
        """The account's open orders in a market, oldest first."""
        path = f"/v1/orders/open/{segment(market_id)}"

        def read(cursor: Any) -> Steps[tuple[Sequence[OrderRecord], Any]]:
            query = {"limit": ORDERS_A_PAGE, "cursor": cursor}
            kind: type[tuple[OrderRecord, ...]] = tuple[OrderRecord, ...]
            rows = decode(kind, (yield from self.requests.send("GET", with_query(path, query))))
            return rows, rows[-1].sequence if len(rows) == ORDERS_A_PAGE else None

        return Pager(read)

    def order_groups(self) -> Steps[OrderGroups]:
        """The groups with their limits, what they have counted, and whether they have tripped."""
        return self._get(OrderGroups, "/v1/user/order-groups")

    def set_order_group(self, name: str, *, window_seconds: int, max_token_quantity_atomic: int) -> Steps[OrderGroup]:
        """Creates the group or changes its limit: atomic tokens that may be filled within the window."""
        most = units_text(max_token_quantity_atomic)
        payload = {"window_seconds": window_seconds, "max_token_quantity_atomic": most}
        path = f"/v1/user/order-groups/{segment(name)}"
        return decode(OrderGroup, (yield from self.requests.send("PUT", path, payload)))

    def reset_order_group(self, name: str) -> Steps[OrderGroup]:
        """Accepts orders of a tripped group again; its window starts empty."""
        path = f"/v1/user/order-groups/{segment(name)}/reset"
        return decode(OrderGroup, (yield from self.requests.send("POST", path)))

    def heartbeat(self) -> Steps[HeartbeatResponse]:
        """Arms the switch: without another one in 15 seconds the orders of all keys of the account are cancelled."""
        return decode(HeartbeatResponse, (yield from self.requests.send("POST", "/v1/orders/heartbeat", {})))

    def _placing(
        self, kind: type[T], method: str, path: str, payload: Any, key: str | None, deadline_ms: int | None
    ) -> Steps[T]:
        if key == OF_CONTENT:
            key = key_of_content(method, path, json_text(payload)) if self.requests.options.content_keys else None
        headers = {} if key is None else {"idempotency-key": key}
        if deadline_ms is not None:
            headers["x-svc-deadline"] = str(deadline_ms)
        repeat: Any = "once" if key is None else "harmless"
        return decode(kind, (yield from self.requests.send(method, path, payload, headers, repeat)))

    def _is_refreshed(self, error: ExchangeError, intent: Intent, maker: str | None) -> Steps[bool]:
        """Whether the order was refused for something that has changed since it was read, and is known now."""
        if not isinstance(error, ApiError):
            return False
        if error.code == "FEE_RATE_MISMATCH" and intent.fee_rate_bps is None:
            kept = yield from self._market(intent.market_id)
            before, kept.fee_rate_bps = kept.fee_rate_bps, (yield from self.fee_rate(intent.market_id)).maker_fee_bps
            return kept.fee_rate_bps != before
        signer = yield from self._order_signer()
        if error.code == "NONCE_BELOW_FLOOR" and intent.nonce is None and isinstance(error.details, Mapping):
            self._floors[(maker or signer.address).lower()] = int(error.details["nonce_floor"])
            return True
        if error.code != "INVALID_SIGNATURE":
            return False
        yield from self.refresh_config()
        before_domain, signer.domain = signer.domain, (yield from self.signing_domain())
        return not _is_same(signer.domain, before_domain)

    def _order_signer(self) -> Steps[OrderSigner]:
        if self._signer is None:
            if self._wallet is None:
                raise ValueError("orders are signed by a wallet: the client has no `wallet`")
            self._signer = OrderSigner(self._wallet, (yield from self.signing_domain()))
        return self._signer

    def kept_market(self, market_id: str) -> Steps[OrderMarket]:
        """The market as signing needs it, read once."""
        return (yield from self._market(market_id)).market

    def _market(self, market_id: str) -> Steps[_Kept]:
        key = market_id.lower()
        if key not in self._markets:
            market = yield from self.order_market(market_id)
            self._markets[key] = _Kept(market, (yield from self.fee_rate(market_id)).maker_fee_bps)
        return self._markets[key]

    def _floor(self, maker: str) -> Steps[int]:
        """0 for a key that may not ask, and for a wallet of another account: the exchange says what is wrong."""
        key = maker.lower()
        if key not in self._floors:
            try:
                self._floors[key] = (yield from self.nonce_floor(maker)).nonce_floor
            except ApiError as error:
                if error.status not in (401, 404):
                    raise
                self._floors[key] = 0
        return self._floors[key]


def _expecting(remaining: int | None) -> dict[str, str]:
    return {} if remaining is None else {"expected_remaining": str(remaining)}


def _is_same(one: Domain, other: Domain) -> bool:
    """The case of an address says nothing."""
    lower = other.verifying_contract.lower()
    return replace(one, verifying_contract=one.verifying_contract.lower()) == replace(other, verifying_contract=lower)
