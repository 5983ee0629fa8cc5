# Made from /openapi.json by `npm run docs`: a change here is lost.
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class UserOrder:
    """A part of an answer: UserOrder."""

    id: str
    order_hash: str
    market_id: str
    side: Literal["BUY", "SELL"]
    price: Decimal
    """As signed; of a FOK or FAK perhaps 1.00 and more. Unit: USDC per token."""
    status: Literal["open", "partially_filled", "filled", "cancelled", "expired"]
    remaining: int
    """Of the asset that the order gives, at the signed price. Unit: as maker_amount."""
    filled_amount: int
    """What is done of the asset that the order gives, at the signed price. Unit: as maker_amount."""
    time_in_force: Literal["GTC", "GTD", "FOK", "FAK"]
    post_only: bool
    created_at: datetime
    filled_token_quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""
    average_fill_price: Decimal | None
    """What was really paid or received for a token, before fees. Unit: USDC per token."""
    sequence: int
    """The order of arrival in its market."""
    outcome_index: Literal[0, 1]
    """The outcome whose tokens are bought or sold."""
    initial_limit_notional_usdc_micro: int | None
    """As signed, not as paid. Unit: micro-USDC."""
    filled_limit_notional_usdc_micro: int | None
    """Unit: micro-USDC."""
    remaining_limit_notional_usdc_micro: int | None
    """Unit: micro-USDC."""
    updated_at: datetime
    """Of the last fill or the close."""
    client_order_id: str | None = None
    order_group: str | None = None


@dataclass(frozen=True, kw_only=True)
class UserOrders:
    """The orders of the account, newest first."""

    orders: tuple[UserOrder, ...]
    total: int
    limit: int
    offset: int
    next_cursor: str | None
    """Null on the last page; another page may have fewer rows than its limit."""
    count_is_estimate: bool | None = None
    """True: there are at least `total`."""
    archived_before: datetime | None = None
    """Earlier rows may be missing."""


@dataclass(frozen=True, kw_only=True)
class UserTrade:
    """A part of an answer: UserTrade."""

    id: str
    market_id: str
    taker_order_id: str
    maker_order_id: str
    price: Decimal
    """Of the outcome of the taker. Unit: USDC per token."""
    amount: int
    """What the taker gave: USDC of a BUY, tokens of a SELL. Unit: micro-USDC of a BUY, atomic tokens of a SELL."""
    taker_side: Literal["BUY", "SELL"]
    outcome_index: Literal[0, 1]
    """The outcome of the taker."""
    role: Literal["taker", "maker"] | None
    party_order_id: str | None
    party_side: Literal["BUY", "SELL"] | None
    party_outcome_index: Literal[0, 1] | None
    notional_usdc_micro: int | None
    """Unit: micro-USDC."""
    token_quantity_atomic: int | None
    """Unit: atomic tokens (10^-6)."""
    order_hash: str | None
    fee_amount: int | None
    """Unit: as fee_asset says."""
    fee_asset: Literal["USDC", "TOKEN"] | None
    settlement_status: Literal["pending", "submitted", "mined", "settled", "failed"]
    matched_at: datetime
    """With microseconds; each fill of a market has its own."""


@dataclass(frozen=True, kw_only=True)
class UserTrades:
    """The trades of the account, newest first."""

    trades: tuple[UserTrade, ...]
    total: int
    limit: int
    offset: int
    next_cursor: str | None
    """Null on the last page; another page may have fewer rows than its limit."""
    count_is_estimate: bool | None = None
    """True: there are at least `total`."""


@dataclass(frozen=True, kw_only=True)
class Activity:
    """A part of an answer: Activity."""

    id: str
    type: Literal["fill", "placed", "cancelled", "expired"]
    market_id: str
    order_id: str
    """The order of the account."""
    trade_id: str | None
    """Of a fill."""
    side: Literal["BUY", "SELL"]
    outcome_index: Literal[0, 1]
    price: Decimal
    """Of a fill its own, else the signed one, of the outcome of the order. Unit: USDC per token."""
    quantity_atomic: int
    """Tokens when placed, of the fill, or left at the end. Unit: atomic tokens (10^-6)."""
    reason: Literal[
        "filled",
        "user",
        "heartbeat",
        "expired",
        "market_closed",
        "self_trade",
        "admin",
        "fak_remainder",
        "group_limit",
        "nonce_floor",
    ] | None
    """Why the order ended."""
    created_at: datetime
    party_order_id: str | None
    party_side: Literal["BUY", "SELL"] | None
    party_outcome_index: Literal[0, 1] | None
    notional_usdc_micro: int | None
    """Unit: micro-USDC."""
    token_quantity_atomic: int | None
    """Unit: atomic tokens (10^-6)."""
    party_outcome_name: str | None


@dataclass(frozen=True, kw_only=True)
class UserActivity:
    """Orders of the account that were placed, cancelled or expired, and its fills, newest first."""

    activity: tuple[Activity, ...]
    total: int
    limit: int
    offset: int
    next_cursor: str | None
    """Null on the last page; another page may have fewer rows than its limit."""
    count_is_estimate: bool | None = None
    """True: there are at least `total`."""
    archived_before: datetime | None = None
    """Earlier rows may be missing."""


@dataclass(frozen=True, kw_only=True)
class StatementToken:
    """A part of an answer: StatementToken."""

    market_id: str
    outcome_index: Literal[0, 1]
    quantity_atomic: int
    """Unit: atomic tokens (10^-6)."""


@dataclass(frozen=True, kw_only=True)
class StatementBalances:
    """A part of an answer: StatementBalances."""

    usdc_micro: int
    """Available and reserved. Unit: micro-USDC."""
    tokens: tuple[StatementToken, ...]


@dataclass(frozen=True, kw_only=True)
class StatementEntry:
    """A part of an answer: StatementEntry."""

    time: datetime
    type: Literal[
        "fill",
        "deposit",
        "withdrawal",
        "split",
        "merge",
        "claim",
        "settlement",
        "refund",
        "carried",
        "unwinding",
        "movement_fee",
        "conversion",
    ]
    id: str
    reference: str | None
    """Of a deposit or withdrawal; of all others the hash of the entry, as the answer of a claim has it."""
    market_id: str | None
    outcome_index: Literal[0, 1] | None
    side: Literal["BUY", "SELL"] | None
    role: Literal["taker", "maker"] | None
    order_id: str | None
    usdc_delta_micro: int
    """Unit: micro-USDC."""
    yes_delta_atomic: int
    """Unit: atomic tokens (10^-6)."""
    no_delta_atomic: int
    """Unit: atomic tokens (10^-6)."""
    fee_usdc_micro: int
    """Unit: micro-USDC."""
    fee_token_atomic: int
    """Unit: atomic tokens (10^-6)."""
    usdc_balance_micro: int
    """Unit: micro-USDC."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Every change of the balances in a period, with the balances before and after it; as JSON or CSV."""

    from_: datetime | None
    to: datetime
    opening: StatementBalances
    entries: tuple[StatementEntry, ...]
    closing: StatementBalances


@dataclass(frozen=True, kw_only=True)
class AccountMovement:
    """A part of an answer: AccountMovement."""

    id: str
    type: Literal[
        "deposit", "withdrawal", "split", "merge", "claim", "fee_rebate", "unwinding", "movement_fee", "conversion"
    ]
    amount_usdc_micro: int
    """Unit: micro-USDC."""
    reference: str | None
    """Of a deposit or withdrawal; of all others the hash of the entry, as the answer of a claim has it."""
    status: Literal["pending", "completed"]
    """A withdrawal is pending until a block of the chain has paid it; everything else is completed."""
    settlement_status: Literal["pending", "submitted", "mined", "settled", "failed"]
    """How far the chain is; settled without one."""
    tx_hash: str | None
    """The transaction on the chain, once a block has it."""
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class FundMovements:
    """Deposits, withdrawals, splits, merges and payouts of the account, newest first."""

    movements: tuple[AccountMovement, ...]
    total: int
    limit: int
    offset: int
    count_is_estimate: bool | None = None
    """True: there are at least `total`."""


@dataclass(frozen=True, kw_only=True)
class SettlementStep:
    """A part of an answer: SettlementStep."""

    status: Literal["pending", "submitted", "mined", "settled", "failed"]
    at: datetime


@dataclass(frozen=True, kw_only=True)
class TradeSettlement:
    """How far a trade of the account has come on the chain, and when."""

    trade_id: str
    settlement_status: Literal["pending", "submitted", "mined", "settled", "failed"]
    history: tuple[SettlementStep, ...]
    """The oldest first."""
    batch_id: str | None
    """Of the batch that has the trade, if any."""
    transaction_hash: str | None
    """Of its transaction, once in a block."""
    block_number: int | None
    reason: str | None
    """Why it was refused, or is tried again."""
    unwound_at: datetime | None
    """When a failed trade was undone."""
