"""The client of the open prediction exchange.

    from open_prediction_exchange import ApiKey, Client, Intent

    client = Client(url, api_key=ApiKey(key_id, secret, passphrase), wallet=private_key)
    order = client.place(Intent(market_id=market, outcome_index=0, side="BUY", price="0.40", size="10"))

Amounts are exact: ints of micro-USDC and atomic tokens, and Decimals of USDC per token. No amount is a float.
"""

from . import error_codes, models, stream
from .amounts import floor_size, format_lots, format_price, format_units, parse_lots, parse_price, parse_units
from .amounts import units_to_decimal
from .answers import AnswerInfo
from .admin import AdminClient, AsyncAdminClient
from .client import AsyncClient, Client, sign_in, sign_in_async
from .errors import ApiError, ApprovalNeededError, ExchangeError, NoAnswerError, NotConnectedError, ProxyError
from .errors import RedirectError
from .errors import SlowReaderError, StreamError, UnexpectedAnswerError, UnknownOutcomeError
from .frames import to_frame
from .keys import DigestSigner, PrivateKey, checksum_address
from .logic.operations import UNSET
from .logic.retry import RetryPolicy
from .logic.session import Session, SessionTokens
from .market_order import MarketPreview
from .orders import Intent, OrderMarket, OrderSigner, SignedOrder
from .placed import AsyncPlacedOrder, PlacedOrder
from .signing import ApiKey, Domain, RequestSigner

__all__ = [
    "AdminClient",
    "AnswerInfo",
    "ApiError",
    "ApiKey",
    "ApprovalNeededError",
    "AsyncAdminClient",
    "AsyncClient",
    "AsyncPlacedOrder",
    "Client",
    "DigestSigner",
    "Domain",
    "ExchangeError",
    "Intent",
    "MarketPreview",
    "NoAnswerError",
    "NotConnectedError",
    "OrderMarket",
    "OrderSigner",
    "PlacedOrder",
    "PrivateKey",
    "ProxyError",
    "RedirectError",
    "RequestSigner",
    "RetryPolicy",
    "Session",
    "SessionTokens",
    "SignedOrder",
    "SlowReaderError",
    "StreamError",
    "UNSET",
    "UnexpectedAnswerError",
    "UnknownOutcomeError",
    "checksum_address",
    "error_codes",
    "floor_size",
    "format_lots",
    "format_price",
    "format_units",
    "models",
    "parse_lots",
    "parse_price",
    "parse_units",
    "sign_in",
    "sign_in_async",
    "stream",
    "to_frame",
    "units_to_decimal",
]
