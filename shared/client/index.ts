/** The typed client of the exchange, imported as `open-prediction-exchange/client`. */
export { type Eip712Domain, orderDigest, type SignableOrder } from '../crypto/eip712.ts';
export { createKeccak, type Keccak256 } from '../crypto/keccak.ts';
export type { ClientOptions } from './accountRequests.ts';
export { AdminClient, ApprovalNeededError } from './admin.ts';
export { ExchangeClient, type PlacingOptions } from './client.ts';
export { ApiError, sendRequest } from './http.ts';
export {
  draftOrder,
  floorSize,
  type OrderDraft,
  type OrderIntent,
  type OrderMarket,
  OrderSigner,
  type SignedOrder,
  type SigningOptions,
  signOrder,
} from './order.ts';
export { addressOf } from './privateKey.ts';
export { type HeaderFields, type PreparedRequest, prepareRequest, type Query, withQuery } from './request.ts';
export { type Credentials, RequestSigner } from './requestSigner.ts';
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
export { type ApplyResult, BookReplica, type Level, type Levels } from './stream/bookReplica.ts';
export type { BookEvent, BookOptions, BookState, BookStream, StaleCause } from './stream/bookStream.ts';
export type { ConnectionTimes, OpenSocket, StreamSocket } from './stream/connection.ts';
export { SlowReaderError } from './stream/eventFeed.ts';
export { ExchangeStream, StreamError, type StreamOptions } from './stream/exchangeStream.ts';
export type * from './stream/frames.ts';
export type { GapEvent, UserEvent, UserOptions, UserStream } from './stream/userStream.ts';
export type * from './types.ts';
