"""The refusals of the exchange: an exception for each code."""

# Made from the table of errors by `npm run docs`: a change here is lost.
from __future__ import annotations

from .errors import ApiError


class PayloadTooLargeError(ApiError):
    """413: request body too large."""


class NotFoundError(ApiError):
    """404:

    - not found
    - no history is published here
    - market not found
    - order not found
    - nothing to claim
    """


class MethodNotAllowedError(ApiError):
    """405: method not allowed."""


class ValidationError(ApiError):
    """400, 416:

    - malformed request
    - API key headers and a bearer token exclude each other
    - invalid request
    - invalid side
    - invalid maker_amount
    - invalid taker_amount
    - invalid time_in_force
    - GTD orders require an expiration time
    - no orders provided
    - no order hashes provided
    - the file has no such part
    - new_order is for another market, outcome or side
    """


class UnauthorizedError(ApiError):
    """401:

    - missing required API key headers
    - unsupported signing version
    - invalid timestamp
    - timestamp outside acceptable window
    - invalid passphrase
    - invalid signature
    - invalid nonce
    - nonce already used
    - signature already used
    - invalid access token
    - access token has expired
    - session has ended
    - invalid refresh token
    - invalid ticket
    - invalid code
    - invalid admin token
    """


class ApiKeyUnauthorizedError(ApiError):
    """401:

    - invalid API key
    - API key is revoked or expired
    """


class ForbiddenError(ApiError):
    """403:

    - only a session may do this
    - the request comes from another site
    - the wallet was removed from its account
    - this address is not allowed for the API key
    - maker is not a wallet of this account
    """


class StepUpRequiredError(ApiError):
    """403: prove with a sign-in or a wallet that it is still you."""


class ProviderUnavailableError(ApiError):
    """503: the sign-in provider does not answer."""


class InsufficientScopeError(ApiError):
    """403: API key lacks the required scope."""


class InsufficientRoleError(ApiError):
    """403: operator lacks the required role."""


class RateLimitedError(ApiError):
    """429: rate limit exceeded."""


class RateLimitDependencyUnavailableError(ApiError):
    """429: rate limit authority unavailable."""


class PlatformPausedError(ApiError):
    """503: platform is paused."""


class NotMatchingLeaderError(ApiError):
    """503: not the matching leader."""


class SettlementUnhealthyError(ApiError):
    """503: settlement is unhealthy."""


class TradingTimeoutActiveError(ApiError):
    """423: trading timeout active."""


class FiatUnavailableError(ApiError):
    """503: cashing in and out is not available now."""


class FundingUnavailableError(ApiError):
    """503: no deposit can be authorized now."""


class IdempotencyKeyMalformedError(ApiError):
    """400: idempotency key is not a UUID."""


class IdempotencyKeyPayloadMismatchError(ApiError):
    """409: idempotency key was used with another payload."""


class SearchTooBroadError(ApiError):
    """400: the words of the search are too common: write more of each, or fewer of them."""


class IdempotencyKeyInProgressError(ApiError):
    """409: the request with this idempotency key is still in flight."""


class InvalidRequestError(ApiError):
    """400:

    - invalid request
    - too many orders (max 15)
    - too many orders (max 50)
    - too many order hashes (max 200)
    """


class InvalidInputError(ApiError):
    """400: invalid input."""


class AmendResignRequiredError(ApiError):
    """422: a change of amounts needs new_order, signed again over the new amounts."""


class ConflictError(ApiError):
    """409:

    - conflict
    - market status does not allow this
    - the stage is another one than the step comes from
    """


class AccountFrozenError(ApiError):
    """403: the account is frozen."""


class AccountCloseOnlyError(ApiError):
    """403: the account may only reduce its positions."""


class OrderPlacementFailedError(ApiError):
    """409: duplicate order."""


class OrderTombstonedError(ApiError):
    """409: order cancelled before arrival."""


class DeadlinePassedError(ApiError):
    """400: deadline passed."""


class DuplicateClientOrderIdError(ApiError):
    """409: client_order_id is used by an open order."""


class MarketNotActiveError(ApiError):
    """400: market not active."""


class CancelOnlyPhaseError(ApiError):
    """503: the market takes nothing but cancels now."""


class OrderExpiredError(ApiError):
    """400: order already expired."""


class InvalidTickError(ApiError):
    """400: price is not a multiple of the tick size."""


class InvalidLotError(ApiError):
    """400: amount is not a multiple of the lot size."""


class BelowMinSizeError(ApiError):
    """400: order below minimum size."""


class InvalidSignatureError(ApiError):
    """400: invalid order signature."""


class NonceBelowFloorError(ApiError):
    """400: nonce is below the floor of the wallet."""


class FeeRateMismatchError(ApiError):
    """422: fee_rate_bps mismatch."""


class OrderNotCancellableError(ApiError):
    """409: order cannot be cancelled."""


class RemainingChangedError(ApiError):
    """409: another amount remains of the order."""


class OrderGroupTriggeredError(ApiError):
    """400: the order group has reached its limit."""


class TooManyOpenOrdersError(ApiError):
    """400: too many open orders."""


class OrderCapacityReachedError(ApiError):
    """503: there is no room for further orders of this account."""


class TimeoutAlreadyActiveError(ApiError):
    """409: a trading timeout is already active."""


class NoActiveTimeoutError(ApiError):
    """404: no active timeout."""


class InsufficientBalanceError(ApiError):
    """400: insufficient balance."""


class SecondOperatorRequiredError(ApiError):
    """403: another operator has to decide this."""


class NotASetError(ApiError):
    """409: the event is not a set."""


class SetsUnavailableError(ApiError):
    """409: event sets are not available here."""


class MemberOfSetError(ApiError):
    """409: the market belongs to a set, which is changed and decided as a whole."""


class TooFewMembersError(ApiError):
    """409: at least two markets of a set stay until it is decided."""


class PostOnlyPhaseError(ApiError):
    """503: only orders that do not cross are taken now."""


class PostOnlyWouldCrossError(ApiError):
    """400: post-only order would cross the book."""


class FokNotFilledError(ApiError):
    """400: FOK order could not be fully filled."""


class FakNoFillError(ApiError):
    """400: FAK order had no immediate fills."""


class MinNetNotMetError(ApiError):
    """400: minimum net not met."""


class EngineBusyError(ApiError):
    """503: the engine is busy."""


class OutcomeUnknownError(ApiError):
    """503: the outcome is unknown; retry with the same request."""


class InternalError(ApiError):
    """500: internal error."""


CODES: dict[str, type[ApiError]] = {
    "PAYLOAD_TOO_LARGE": PayloadTooLargeError,
    "NOT_FOUND": NotFoundError,
    "METHOD_NOT_ALLOWED": MethodNotAllowedError,
    "VALIDATION_ERROR": ValidationError,
    "UNAUTHORIZED": UnauthorizedError,
    "API_KEY_UNAUTHORIZED": ApiKeyUnauthorizedError,
    "FORBIDDEN": ForbiddenError,
    "STEP_UP_REQUIRED": StepUpRequiredError,
    "PROVIDER_UNAVAILABLE": ProviderUnavailableError,
    "INSUFFICIENT_SCOPE": InsufficientScopeError,
    "INSUFFICIENT_ROLE": InsufficientRoleError,
    "RATE_LIMITED": RateLimitedError,
    "RATE_LIMIT_DEPENDENCY_UNAVAILABLE": RateLimitDependencyUnavailableError,
    "PLATFORM_PAUSED": PlatformPausedError,
    "NOT_MATCHING_LEADER": NotMatchingLeaderError,
    "SETTLEMENT_UNHEALTHY": SettlementUnhealthyError,
    "TRADING_TIMEOUT_ACTIVE": TradingTimeoutActiveError,
    "FIAT_UNAVAILABLE": FiatUnavailableError,
    "FUNDING_UNAVAILABLE": FundingUnavailableError,
    "IDEMPOTENCY_KEY_MALFORMED": IdempotencyKeyMalformedError,
    "IDEMPOTENCY_KEY_PAYLOAD_MISMATCH": IdempotencyKeyPayloadMismatchError,
    "SEARCH_TOO_BROAD": SearchTooBroadError,
    "IDEMPOTENCY_KEY_IN_PROGRESS": IdempotencyKeyInProgressError,
    "INVALID_REQUEST": InvalidRequestError,
    "INVALID_INPUT": InvalidInputError,
    "AMEND_RESIGN_REQUIRED": AmendResignRequiredError,
    "CONFLICT": ConflictError,
    "ACCOUNT_FROZEN": AccountFrozenError,
    "ACCOUNT_CLOSE_ONLY": AccountCloseOnlyError,
    "ORDER_PLACEMENT_FAILED": OrderPlacementFailedError,
    "ORDER_TOMBSTONED": OrderTombstonedError,
    "DEADLINE_PASSED": DeadlinePassedError,
    "DUPLICATE_CLIENT_ORDER_ID": DuplicateClientOrderIdError,
    "MARKET_NOT_ACTIVE": MarketNotActiveError,
    "CANCEL_ONLY_PHASE": CancelOnlyPhaseError,
    "ORDER_EXPIRED": OrderExpiredError,
    "INVALID_TICK": InvalidTickError,
    "INVALID_LOT": InvalidLotError,
    "BELOW_MIN_SIZE": BelowMinSizeError,
    "INVALID_SIGNATURE": InvalidSignatureError,
    "NONCE_BELOW_FLOOR": NonceBelowFloorError,
    "FEE_RATE_MISMATCH": FeeRateMismatchError,
    "ORDER_NOT_CANCELLABLE": OrderNotCancellableError,
    "REMAINING_CHANGED": RemainingChangedError,
    "ORDER_GROUP_TRIGGERED": OrderGroupTriggeredError,
    "TOO_MANY_OPEN_ORDERS": TooManyOpenOrdersError,
    "ORDER_CAPACITY_REACHED": OrderCapacityReachedError,
    "TIMEOUT_ALREADY_ACTIVE": TimeoutAlreadyActiveError,
    "NO_ACTIVE_TIMEOUT": NoActiveTimeoutError,
    "INSUFFICIENT_BALANCE": InsufficientBalanceError,
    "SECOND_OPERATOR_REQUIRED": SecondOperatorRequiredError,
    "NOT_A_SET": NotASetError,
    "SETS_UNAVAILABLE": SetsUnavailableError,
    "MEMBER_OF_SET": MemberOfSetError,
    "TOO_FEW_MEMBERS": TooFewMembersError,
    "POST_ONLY_PHASE": PostOnlyPhaseError,
    "POST_ONLY_WOULD_CROSS": PostOnlyWouldCrossError,
    "FOK_NOT_FILLED": FokNotFilledError,
    "FAK_NO_FILL": FakNoFillError,
    "MIN_NET_NOT_MET": MinNetNotMetError,
    "ENGINE_BUSY": EngineBusyError,
    "OUTCOME_UNKNOWN": OutcomeUnknownError,
    "INTERNAL_ERROR": InternalError,
}
STATUSES = frozenset([400, 401, 403, 404, 405, 409, 413, 416, 422, 423, 429, 500, 503])
"""Every status that the exchange itself gives to a refusal."""
