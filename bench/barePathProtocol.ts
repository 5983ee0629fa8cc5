/** What the two threads of the bare path agree on; its commands are those of shared/commands.ts. */
import type { Eip712Domain } from '../shared/eip712.ts';
import { HASH_BYTES } from '../shared/hex.ts';
import type { OrderMarket } from '../shared/sdk/order.ts';
import type { Credentials } from '../shared/sdk/request.ts';

export type BarePathOptions = {
  /** The one key that its requests are signed with. */
  readonly credentials: Credentials;
  /** The one market that its orders are for. */
  readonly market: OrderMarket;
  readonly domain: Eip712Domain;
  /** For the journal; whoever starts the process removes it. */
  readonly directory: string;
};

export type BarePathShardOptions = Pick<BarePathOptions, 'domain' | 'directory'> & {
  readonly commandRing: SharedArrayBuffer;
  readonly answerRing: SharedArrayBuffer;
};

/**
 * An answer, in words (ringLayout.ts has the first two):
 *   0 length   1 type   2 requestId   3 whether the signature was right   4 sequence in the journal   5 –
 *   6…13 order hash
 */
export const ANSWER = 1;
export const ANSWER_REQUEST = 2;
export const ANSWER_ACCEPTED = 3;
export const ANSWER_SEQUENCE = 4;
export const ANSWER_HASH = 6;
export const ANSWER_BYTES = ANSWER_HASH * 4 + HASH_BYTES;
