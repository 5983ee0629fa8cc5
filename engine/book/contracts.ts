/**
 * The contract and chain that orders are signed for, once a CONTRACTS command has changed them. They are state like any
 * other: the settings a shard is started with hold only before the first change (RULES.md 5.6).
 * Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';
import { ADDRESS_BYTES } from '../../shared/base/hex.ts';
import type { SnapshotIo } from '../base/snapshotIo.ts';

export class Contracts {
  /** 0 until the first change. */
  chainId = 0;
  exchange: Uint8Array = new Uint8Array(ADDRESS_BYTES);

  get haveChanged(): boolean {
    return this.chainId !== 0;
  }

  /** For the digest: empty before the first change, as in journals older than this command. */
  facts(): number[] {
    assert(this.exchange.length === ADDRESS_BYTES, 'contracts: an address has 20 bytes');
    return this.haveChanged ? [this.chainId, ...this.exchange] : [];
  }

  persist(io: SnapshotIo): void {
    this.chainId = io.number(this.chainId);
    this.exchange = io.u8(this.exchange);
  }
}
