"""Turns "buy 100 at 0.65" into the exact amounts of an order, which rounds nothing, and signs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Mapping, Union

from .amounts import Amount, checked_lots, checked_ticks, parse_lots, parse_price
from .keys import DigestSigner, PrivateKey
from .signed_fields import SIGNED_FIELDS, SignedField
from .signing import SIDE_CODES, ZERO_ADDRESS, Domain, order_digest, random_salt, typed_data

Side = Literal["BUY", "SELL"]
Outcome = Literal[0, 1]
"""0 is Yes, 1 is No."""
TimeInForce = Literal["GTC", "GTD", "FOK", "FAK"]
SelfTrade = Literal["none", "cancel_newest", "cancel_oldest", "cancel_both"]
Body = Mapping[str, Any]
"""A placement as it is sent."""


@dataclass(frozen=True)
class OrderMarket:
    """The parts of a market that an order depends on: its tokens and its grid."""

    id: str
    yes_token_id: int
    no_token_id: int
    ticks_per_unit: int
    """Ticks to one USDC; a lot is as many atomic tokens."""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """An order in terms of its market: `price` and `size`, or `price_ticks` and `quantity_lots`."""

    market_id: str
    outcome_index: Outcome
    side: Side
    price: Amount | None = None
    """USDC per token, exactly on the market's grid."""
    size: Amount | None = None
    """Tokens, a whole number of lots."""
    price_ticks: int | None = None
    quantity_lots: int | None = None
    time_in_force: TimeInForce = "GTC"
    expiration_sec: int = 0
    """Unix seconds, 0 for none; GTD needs one."""
    post_only: bool = False
    nonce: int | None = None
    """Without it the nonce floor of the maker."""
    fee_rate_bps: int | None = None
    """The fee that the order agrees to, in basis points; without it that of the market."""
    min_taker_net: int | None = None
    """The least that a FOK or FAK order receives after fees, in units of the asset that it gets."""
    self_trade_prevention: SelfTrade | None = None
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True)
class SignedOrder:
    """An order as it is sent, and the hash by which it can be found, whatever happens to its answer."""

    body: Body
    order_hash: str


class TypedDataSigner:
    """An account of eth-account, or of a library like it: it signs the typed data that it is shown."""

    def __init__(self, account: Any) -> None:
        self.account = account
        self.address: str = account.address


Wallet = Union[str, PrivateKey, DigestSigner, TypedDataSigner]
"""What signs orders: a private key in hex, a signer of digests, or an account of eth-account."""


def draft_order(intent: Intent, market: OrderMarket, fee_rate_bps: int, nonce: int) -> dict[str, Any]:
    """A placement body without wallets, salt and signature. ValueError for a price or a size off the grid."""
    ticks, lots = grid_of(intent, market.ticks_per_unit)
    quantity_atomic, notional_micro = lots * market.ticks_per_unit, lots * ticks
    if intent.side not in SIDE_CODES:
        raise ValueError(f"{intent.side!r} is neither BUY nor SELL")
    if intent.outcome_index not in (0, 1):
        raise ValueError(f"{intent.outcome_index!r} is neither 0 (Yes) nor 1 (No)")
    gives, gets = (notional_micro, quantity_atomic) if intent.side == "BUY" else (quantity_atomic, notional_micro)
    draft: dict[str, Any] = {
        "market_id": market.id,
        "token_id": str(market.yes_token_id if intent.outcome_index == 0 else market.no_token_id),
        "side": intent.side,
        "maker_amount": str(gives),
        "taker_amount": str(gets),
        "nonce": nonce,
        "expiration": intent.expiration_sec,
        "fee_rate_bps": fee_rate_bps,
        "outcome_index": int(intent.outcome_index),
        "time_in_force": intent.time_in_force,
        "post_only": intent.post_only,
    }
    optional = {
        "min_taker_net": None if intent.min_taker_net is None else str(intent.min_taker_net),
        "self_trade_prevention": intent.self_trade_prevention,
        "client_order_id": intent.client_order_id,
        "order_group": intent.order_group,
    }
    return {**draft, **{name: value for name, value in optional.items() if value is not None}}


def grid_of(intent: Intent, ticks_per_unit: int) -> tuple[int, int]:
    """Price in ticks and quantity in lots. ValueError for a value off the market's grid."""
    by_text = intent.price is not None and intent.size is not None
    exact = intent.price_ticks is not None and intent.quantity_lots is not None
    given = [intent.price, intent.size, intent.price_ticks, intent.quantity_lots]
    if by_text == exact or sum(each is not None for each in given) != 2:
        raise TypeError("an order has a price and a size, or price_ticks and quantity_lots")
    if intent.price is not None and intent.size is not None:
        return parse_price(intent.price, ticks_per_unit), parse_lots(intent.size, ticks_per_unit)
    assert intent.price_ticks is not None and intent.quantity_lots is not None
    return checked_ticks(intent.price_ticks, ticks_per_unit), checked_lots(intent.quantity_lots, ticks_per_unit)


def message_of(body: Body) -> dict[str, str | int]:
    """The signed fields of a placement body."""
    return {field.name: _signed_value(field, body) for field in SIGNED_FIELDS}


def _signed_value(field: SignedField, body: Body) -> str | int:
    if field.name == "taker":
        return ZERO_ADDRESS
    if field.name == "side":
        return SIDE_CODES[body["side"]]
    value: str | int = body.get(field.member, 0) if field.is_optional else body[field.member]
    return value if field.type == "address" else int(value)


class OrderSigner:
    """Signs orders of one wallet, for one signing domain at a time."""

    def __init__(self, wallet: Wallet, domain: Domain) -> None:
        self._signer: PrivateKey | DigestSigner | TypedDataSigner = signer_of(wallet)
        self.domain = domain

    @property
    def address(self) -> str:
        """The wallet that signs."""
        return self._signer.address

    def sign(self, draft: Body, *, maker: str | None = None, salt: int | None = None) -> SignedOrder:
        """`maker` is the wallet that pays, if this one is its delegate; the salt is random unless it is given."""
        body = {
            **draft,
            "maker": (maker or self.address).lower(),
            "signer": self.address.lower(),
            "taker": ZERO_ADDRESS,
            "salt": str(random_salt() if salt is None else salt),
        }
        message = message_of(body)
        digest = order_digest(message, self.domain)
        if isinstance(self._signer, TypedDataSigner):
            full = typed_data(message, self.domain)
            signature = bytes(self._signer.account.sign_typed_data(full_message=full).signature)
        else:
            signature = self._signer.sign_digest(digest)
        if len(signature) != 65:
            raise ValueError("the wallet did not give a signature of 65 bytes")
        return SignedOrder({**body, "signature": "0x" + signature.hex()}, "0x" + digest.hex())


def signer_of(wallet: Wallet) -> PrivateKey | DigestSigner | TypedDataSigner:
    """The signer for a wallet in one of the forms that callers may pass."""
    if isinstance(wallet, str):
        return PrivateKey(wallet)
    if hasattr(wallet, "sign_digest") or isinstance(wallet, TypedDataSigner):
        return wallet
    if hasattr(wallet, "sign_typed_data"):
        return TypedDataSigner(wallet)
    raise TypeError("a wallet is a private key in hex, has sign_digest(digest), or is an account of eth-account")
