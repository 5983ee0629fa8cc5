"""The order that wallets sign: its EIP-712 type, field by field."""

# Made from the table of an order's fields by `npm run docs`: a change here is lost.
from __future__ import annotations

from typing import NamedTuple


class SignedField(NamedTuple):
    """A field of the type, and the member of a placement body that has its value."""

    type: str
    name: str
    member: str
    is_optional: bool


SIGNED_FIELDS = (
    SignedField("uint256", "salt", "salt", False),
    SignedField("address", "maker", "maker", False),
    SignedField("address", "signer", "signer", False),
    SignedField("address", "taker", "taker", False),
    SignedField("uint256", "tokenId", "token_id", False),
    SignedField("uint256", "makerAmount", "maker_amount", False),
    SignedField("uint256", "takerAmount", "taker_amount", False),
    SignedField("uint256", "expiration", "expiration", True),
    SignedField("uint256", "nonce", "nonce", False),
    SignedField("uint256", "feeRateBps", "fee_rate_bps", False),
    SignedField("uint256", "minTakerNet", "min_taker_net", True),
    SignedField("uint8", "side", "side", False),
)
"""In the order of the type."""
ORDER_TYPE = "Order(" + ",".join(f"{each.type} {each.name}" for each in SIGNED_FIELDS) + ")"
