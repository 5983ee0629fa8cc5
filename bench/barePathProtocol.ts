/** The messages between the two threads of the bare path; the commands are those of shared/wire/commands.ts. */

import { HASH_BYTES } from '../shared/base/hex.ts';
import type { Credentials } from '../shared/client/credentials.ts';
import type { OrderMarket } from '../shared/client/order.ts';
import type { Eip712Domain } from '../shared/crypto/eip712.ts';
import { bytes, record, u32, unused } from '../shared/wire/layout.ts';

export type BarePathOptions = {
  /** The only key with which requests are signed. */
  readonly credentials: Credentials;
  /** The only market of the orders. */
  readonly market: OrderMarket;
  readonly domain: Eip712Domain;
  /** Directory of the journal; the process that starts this one removes it. */
  readonly directory: string;
};

export type BarePathShardOptions = Pick<BarePathOptions, 'domain' | 'directory'> & {
  readonly commandRing: SharedArrayBuffer;
  readonly answerRing: SharedArrayBuffer;
};

export const ANSWER = record(
  'ANSWER',
  {
    length: u32('bytes'),
    type: u32(),
    requestId: u32(),
    isAccepted: u32('1 when the signature was right'),
    sequence: u32('in the journal'),
    unused: unused(1),
    orderHash: bytes(HASH_BYTES),
  },
  'The reply of the shard thread of the bare path.',
  1,
);
