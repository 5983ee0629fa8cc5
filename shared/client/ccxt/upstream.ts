/**
 * All that the class needs of CCXT, under the names that it has in CCXT's repository. In that repository this file is
 * not needed: there the imports come from `../base/`. Here it is the only one that knows how the package is laid out:
 * it exports no caches, so they are loaded by their place in it.
 */
import ccxt from 'ccxt';

export { secp256k1 } from '@noble/curves/secp256k1.js';
export { sha256 } from '@noble/hashes/sha2.js';
export { keccak_256 as keccak } from '@noble/hashes/sha3.js';
export type { Balances, Dict, Int, Num, OrderSide, OrderType, Str, Strings } from 'ccxt';
export {
  ArgumentsRequired,
  AuthenticationError,
  BadRequest,
  BadSymbol,
  ChecksumError,
  DuplicateOrderId,
  ExchangeError,
  ExchangeNotAvailable,
  InsufficientFunds,
  InvalidNonce,
  InvalidOrder,
  MarketClosed,
  NotSupported,
  OnMaintenance,
  OrderImmediatelyFillable,
  OrderNotFillable,
  OrderNotFound,
  PermissionDenied,
  Precise,
  PredictionExchange,
  RateLimitExceeded,
  RequestTimeout,
} from 'ccxt';

/** A structure as the base class returns it, which types few of them. */
// biome-ignore lint/suspicious/noExplicitAny: CCXT's own classes have any in these places
export type Unified = any;

export const { ecdsa, TICK_SIZE } = ccxt;
const caches = await import(new URL('./src/base/ws/Cache.js', import.meta.resolve('ccxt')).href);
export const { ArrayCache, ArrayCacheByOutcomeById } = caches;
