/**
 * An idempotency key while a call holds it; the stage that lets calls hold keys is in shardlink/idempotencyStage.ts.
 */
import type { Storable } from '../../shared/base/errors.ts';

/** An answer as it is stored with its key. */
export type StoredReply = { readonly status: number; readonly body: string };

/** The account, route and payload that a key is used for. */
type KeyUse = {
  readonly account: number;
  /** A number of EXT_ROUTE. */
  readonly route: number;
  readonly key: Uint8Array;
  readonly fingerprint: Uint8Array;
};

export type IdempotencyHold = {
  readonly slot: string;
  /** An earlier request with this key may have been carried out; its answer was lost. */
  readonly mayHaveRun: boolean;
  readonly use: KeyUse;
  /** Key and fingerprint as the words of a command. */
  readonly words: { readonly key: Uint32Array; readonly fingerprint: Uint32Array };
  /** Part of the request may have been carried out: the key stays unresolved, so that a retry finds out. */
  leaveUnresolved(): void;
  /** The reply to store before this answer is sent; null when the answer is not stored. */
  toStore(reply: StoredReply, storable: Storable): StoredReply | null;
  store(reply: StoredReply, whenStored: (isStored: boolean) => void): void;
};
