/** What the gateway hands to the threads it starts: plain data and shared memory, nothing else crosses. */

export type JournalSync = 'full' | 'normal';
export type VerifierChoice = 'auto' | 'noble' | 'native';

export type ShardOptions = {
  readonly shard: number;
  readonly shards: number;
  readonly commandRing: SharedArrayBuffer;
  readonly eventRing: SharedArrayBuffer;
  /** Available USDC per account, and what each shard has applied to it (balances.ts). */
  readonly balances: SharedArrayBuffer;
  /** How far each shard has committed and the projector has followed (progress.ts). */
  readonly progress: SharedArrayBuffer;
  readonly journalPath: string;
  /** Where the snapshots lie. */
  readonly directory: string;
  readonly journalSync: JournalSync;
  readonly verifier: VerifierChoice;
  /** Where shards offer signature checks to verifier threads; null where there are none. */
  readonly checkBoard: SharedArrayBuffer | null;
  /** Where verifier threads leave tables of signers; null where there are none, or the native library checks. */
  readonly signerTables: SharedArrayBuffer | null;
  readonly chainId: number;
  /** 0x and 40 hex digits. */
  readonly exchangeAddress: string;
  /** False lets orders reserve what an account does not have, for interface rehearsals. */
  readonly collateralCheck: boolean;
  /** For so long after the start orders may only rest; 0 for no such time. */
  readonly postOnlyMs: number;
};

export type SnapshotOptions = {
  readonly journalPaths: readonly string[];
  readonly directory: string;
  readonly progress: SharedArrayBuffer;
  readonly chainId: number;
  readonly exchangeAddress: string;
  /** A shard gets a new snapshot when it has journaled this many records since the last one. */
  readonly everyRecords: number;
  /** Journal rows kept at least, for export and for rebuilding read.db from nothing. */
  readonly keepRecords: number;
};

export type ProjectorOptions = {
  readonly journalPaths: readonly string[];
  readonly readDbPath: string;
  readonly progress: SharedArrayBuffer;
};

export type VerifierOptions = {
  readonly checkBoard: SharedArrayBuffer;
  readonly signerTables: SharedArrayBuffer | null;
  readonly verifier: VerifierChoice;
};
