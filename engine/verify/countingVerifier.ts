/**
 * The verifier of a shard, counting its checks for the metrics.
 * Owner: the thread of the shard.
 */
import type { ShardMeters } from '../../shared/wire/shardMeters.ts';
import { CachedNobleVerifier } from './cachedNoble.ts';
import type { OfferedChecks } from './checkBoard.ts';
import type { Verifier } from './verifier.ts';

type CheckCount = Parameters<ShardMeters['add']>[0];

export class CountingVerifier implements Verifier {
  readonly name: Verifier['name'];
  /** Checks made by this thread. */
  #own = 0;
  readonly #verifier: Verifier;
  /** The counts that have been reported. */
  readonly #reported: Record<CheckCount, number> = { checksOwn: 0, checksByVerifiers: 0, tableHits: 0, tableMisses: 0 };

  constructor(verifier: Verifier) {
    this.name = verifier.name;
    this.#verifier = verifier;
  }

  verify(
    digest: Uint8Array,
    digestOffset: number,
    signature: Uint8Array,
    signatureOffset: number,
    signerAddress: Uint8Array,
    signerOffset: number,
  ): boolean {
    this.#own++;
    return this.#verifier.verify(digest, digestOffset, signature, signatureOffset, signerAddress, signerOffset);
  }

  /** Adds what has been counted since the last time. */
  report(meters: ShardMeters, checks: OfferedChecks | undefined): void {
    const tables = this.#verifier instanceof CachedNobleVerifier ? this.#verifier : { hits: 0, misses: 0 };
    this.#add(meters, 'checksOwn', this.#own);
    this.#add(meters, 'checksByVerifiers', checks?.answeredByOthers ?? 0);
    this.#add(meters, 'tableHits', tables.hits);
    this.#add(meters, 'tableMisses', tables.misses);
  }

  #add(meters: ShardMeters, name: CheckCount, count: number): void {
    meters.add(name, count - this.#reported[name]);
    this.#reported[name] = count;
  }
}
