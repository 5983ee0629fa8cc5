/**
 * The class of CCXT for each refusal of the exchange. A message counts before its code: codes such as NOT_FOUND stand
 * for several things. A program may repeat what is a NetworkError, and a RequestTimeout says that the request may have
 * been carried out.
 */
import { Routes } from './abstract.ts';
import {
  AuthenticationError,
  BadRequest,
  BadSymbol,
  type Dict,
  DuplicateOrderId,
  ExchangeError,
  ExchangeNotAvailable,
  InsufficientFunds,
  type Int,
  InvalidNonce,
  InvalidOrder,
  MarketClosed,
  OnMaintenance,
  OrderImmediatelyFillable,
  OrderNotFillable,
  OrderNotFound,
  PermissionDenied,
  RateLimitExceeded,
  RequestTimeout,
  type Str,
  type Unified,
} from './upstream.ts';

export abstract class Refusals extends Routes {
  errorsByMessage(): Dict {
    return {
      'market not found': BadSymbol,
      'order not found': OrderNotFound,
      'invalid timestamp': InvalidNonce,
      'timestamp outside acceptable window': InvalidNonce,
      'invalid nonce': InvalidNonce,
      'nonce already used': InvalidNonce,
      'signature already used': InvalidNonce,
      'invalid side': InvalidOrder,
      'invalid maker_amount': InvalidOrder,
      'invalid taker_amount': InvalidOrder,
      'invalid time_in_force': InvalidOrder,
      'GTD orders require an expiration time': InvalidOrder,
      'new_order is for another market, outcome or side': InvalidOrder,
    };
  }

  errorsByCode(): Dict {
    return {
      PAYLOAD_TOO_LARGE: BadRequest,
      NOT_FOUND: BadRequest,
      METHOD_NOT_ALLOWED: BadRequest,
      VALIDATION_ERROR: BadRequest,
      UNAUTHORIZED: AuthenticationError,
      API_KEY_UNAUTHORIZED: AuthenticationError,
      FORBIDDEN: PermissionDenied,
      STEP_UP_REQUIRED: PermissionDenied,
      PROVIDER_UNAVAILABLE: ExchangeNotAvailable,
      INSUFFICIENT_SCOPE: PermissionDenied,
      INSUFFICIENT_ROLE: PermissionDenied,
      RATE_LIMITED: RateLimitExceeded,
      RATE_LIMIT_DEPENDENCY_UNAVAILABLE: ExchangeNotAvailable,
      PLATFORM_PAUSED: OnMaintenance,
      NOT_MATCHING_LEADER: ExchangeNotAvailable,
      SETTLEMENT_UNHEALTHY: OnMaintenance,
      TRADING_TIMEOUT_ACTIVE: PermissionDenied,
      FIAT_UNAVAILABLE: ExchangeNotAvailable,
      FUNDING_UNAVAILABLE: ExchangeNotAvailable,
      IDEMPOTENCY_KEY_MALFORMED: BadRequest,
      IDEMPOTENCY_KEY_PAYLOAD_MISMATCH: BadRequest,
      IDEMPOTENCY_KEY_IN_PROGRESS: RequestTimeout,
      INVALID_REQUEST: BadRequest,
      INVALID_INPUT: BadRequest,
      SEARCH_TOO_BROAD: BadRequest,
      AMEND_RESIGN_REQUIRED: BadRequest,
      CONFLICT: ExchangeError,
      ACCOUNT_FROZEN: PermissionDenied,
      ACCOUNT_CLOSE_ONLY: PermissionDenied,
      ORDER_PLACEMENT_FAILED: DuplicateOrderId,
      ORDER_TOMBSTONED: InvalidOrder,
      DEADLINE_PASSED: InvalidOrder,
      DUPLICATE_CLIENT_ORDER_ID: DuplicateOrderId,
      MARKET_NOT_ACTIVE: MarketClosed,
      CANCEL_ONLY_PHASE: OnMaintenance,
      ORDER_EXPIRED: InvalidOrder,
      INVALID_TICK: InvalidOrder,
      INVALID_LOT: InvalidOrder,
      BELOW_MIN_SIZE: InvalidOrder,
      INVALID_SIGNATURE: InvalidOrder,
      NONCE_BELOW_FLOOR: InvalidNonce,
      FEE_RATE_MISMATCH: InvalidOrder,
      ORDER_NOT_CANCELLABLE: OrderNotFound,
      REMAINING_CHANGED: InvalidOrder,
      ORDER_GROUP_TRIGGERED: InvalidOrder,
      TOO_MANY_OPEN_ORDERS: InvalidOrder,
      ORDER_CAPACITY_REACHED: ExchangeNotAvailable,
      TIMEOUT_ALREADY_ACTIVE: ExchangeError,
      NO_ACTIVE_TIMEOUT: ExchangeError,
      INSUFFICIENT_BALANCE: InsufficientFunds,
      SECOND_OPERATOR_REQUIRED: PermissionDenied,
      NOT_A_SET: BadRequest,
      SETS_UNAVAILABLE: ExchangeError,
      MEMBER_OF_SET: ExchangeError,
      TOO_FEW_MEMBERS: ExchangeError,
      POST_ONLY_PHASE: OnMaintenance,
      POST_ONLY_WOULD_CROSS: OrderImmediatelyFillable,
      FOK_NOT_FILLED: OrderNotFillable,
      FAK_NO_FILL: OrderNotFillable,
      MIN_NET_NOT_MET: OrderNotFillable,
      ENGINE_BUSY: ExchangeNotAvailable,
      OUTCOME_UNKNOWN: RequestTimeout,
      INTERNAL_ERROR: RequestTimeout,
    };
  }

  handleErrors(
    status: Int,
    _reason: string,
    _url: string,
    _method: string,
    _headers: Dict,
    body: string,
    response: Dict,
    _requestHeaders: Dict = {},
    _requestBody: Unified = undefined,
  ): Unified {
    const message = this.safeString(response, 'error');
    const code = this.safeString(response, 'code');
    if (status === undefined || status < 400 || message === undefined) {
      return undefined;
    }
    this.forgetTerms(code);
    this.throwRefusal(message, code, `${this.id} ${body}`);
    return undefined;
  }

  /** Of a request, and of one order of a batch. */
  throwRefusal(message: Str, code: Str, feedback: string): void {
    this.throwExactlyMatchedException(this.exceptions['exact'], message, feedback);
    this.throwExactlyMatchedException(this.exceptions['exact'], code, feedback);
    throw new ExchangeError(feedback);
  }

  /** A refused signature or fee shows that what was kept of the exchange is not in force any more. */
  forgetTerms(code: Str): void {
    if (code === 'INVALID_SIGNATURE') {
      this.options['domain'] = undefined;
    }
    if (code === 'FEE_RATE_MISMATCH') {
      this.options['feeRates'] = {};
    }
  }
}
