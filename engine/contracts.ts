/**
 * The contract and chain that orders are signed for, once a CONTRACTS command has changed them: state like any other,
 * so whatever a shard is started with is only what holds before the first change (RULES.md 5.6).
 * Owner: the shard thread.
 */
import { ADDRESS_BYTES } from '../shared/hex.ts';
import type { SnapshotIo } from './snapshotIo.ts';

export class Contracts {
  /** 0 until the first change. */
  chainId = 0;
  exchange: Uint8Array = new Uint8Array(ADDRESS_BYTES);

  get haveChanged(): boolean {
    return this.chainId !== 0;
  }

  /** For the digest: nothing at all before the first change, as in journals that knew of none. */
  facts(): number[] {
    return this.haveChanged ? [this.chainId, ...this.exchange] : [];
  }

  persist(io: SnapshotIo): void {
    this.chainId = io.number(this.chainId);
    this.exchange = io.u8(this.exchange);
  }
}
