/**
 * The typed client of the exchange, published as `pmx-client` (npm/pmx-client). No module that is loaded from here, at
 * once or later, is one of Node's: browsers load the same files.
 */
export { type Eip712Domain, orderDigest, type SignableOrder } from '../crypto/eip712.ts';
export type { Keccak256 } from '../crypto/keccak.ts';
export type { CallOptions, ClientOptions } from './accountRequests.ts';
export { AccountSigner, type TypedData, type TypedDataAccount } from './accountSigner.ts';
export { AdminClient } from './admin.ts';
export type { AdminOptions } from './adminRequests.ts';
export {
  floorSize,
  formatLots,
  formatPrice,
  formatUnits,
  parseLots,
  parsePrice,
  parseUnits,
} from './amounts.ts';
export type { AnswerInfo, RateLimitState } from './answerInfo.ts';
export { isRefusal, isUnanswered, leavesOpen } from './answers.ts';
export { ApprovalNeededError } from './approvalNeeded.ts';
export { ExchangeClient, type PlaceOptions, type PlacingOptions, type ReplacingOptions } from './client.ts';
export { ApiKey, type Credentials } from './credentials.ts';
export { type HeartbeatOptions, Heartbeats } from './heartbeats.ts';
export { ApiError, RedirectError, type SendOptions, sendRequest } from './http.ts';
export { keyOfContent } from './idempotencyKey.ts';
export type { MarketBuy, MarketPreview, MarketSell } from './marketOrder.ts';
export {
  draftOrder,
  type ExactIntent,
  type OrderDraft,
  type OrderIntent,
  type OrderMarket,
  type SignedOrder,
  type SigningOptions,
} from './order.ts';
export type { OrderChanges } from './orderChanges.ts';
export { OrderSigner, signOrder } from './orderSigner.ts';
export { type OrderSigning, type TypedOrder, typedOrder } from './orderSigning.ts';
export type { FinalOrder } from './orderTracker.ts';
export { type PlacedAnswer, PlacedOrder, UnknownOutcomeError } from './placedOrder.ts';
export type { OrderWallet, PlaceIntent } from './placer.ts';
export { addressOf } from './privateKey.ts';
export { type HeaderFields, type PreparedRequest, prepareRequest, type Query, withQuery } from './request.ts';
export { RequestSigner } from './requestSigner.ts';
export type { RetryPolicy } from './retry.ts';
export {
  resumeSession,
  Session,
  type SessionOptions,
  type SignInOptions,
  signInWithProvider,
  signInWithWallet,
} from './session.ts';
export type { SessionTokens, TokenStore } from './sessionTokens.ts';
export type { SignInWallet, TextWallet } from './signInWallet.ts';
export { type ApplyResult, BookReplica, type Depth, type Level, type Levels } from './stream/bookReplica.ts';
export type { BookEvent, BookOptions, BookState, BookStream, StaleCause } from './stream/bookStream.ts';
export type {
  CandleEvent,
  CandlesOptions,
  CandlesStream,
  MarketChangeEvent,
  MarketChanges,
  MarketChangesOptions,
  TickerEvent,
  TickersOptions,
  TickersStream,
} from './stream/channelStream.ts';
export type { StreamOptions } from './stream/connect.ts';
export type { ConnectionTimes, OpenSocket, StreamSocket } from './stream/connection.ts';
export { SlowReaderError } from './stream/eventFeed.ts';
export { ExchangeStream, StreamError } from './stream/exchangeStream.ts';
export type * from './stream/frames.ts';
export type { OrderSocket, OrderSocketOptions } from './stream/orderSocket.ts';
export type { GapEvent, UserEvent, UserOptions, UserStream } from './stream/userStream.ts';
export type * from './types.ts';
