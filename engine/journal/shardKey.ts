/**
 * The keys of one shard: tags made with them prove that this exchange wrote the rows and snapshots (RULES.md 10.12). A
 * program that can write the files, but does not have MASTER_KEY, can neither add nor change a row or snapshot.
 */
import type { JournalKey } from '../../shared/base/journalKey.ts';
import { Mac } from '../../shared/crypto/mac.ts';

/** The options of a thread, with the keys of all shards in place of the master secret. */
export type Keyed<Options extends { readonly journalKey: JournalKey }> = Omit<Options, 'journalKey'> & {
  readonly keys: readonly ShardKey[];
};

export class ShardKey {
  readonly rows: Mac;
  /** Null: snapshots are used even without a valid seal. */
  readonly snapshots: Mac | null;
  /** The first row whose tag is checked. */
  readonly keyedFrom: number;

  static async create({ secret, keyedFrom }: JournalKey, shard: number): Promise<ShardKey> {
    const [rows, snapshots] = await Promise.all([
      Mac.create(secret, `rows of shard ${shard}`),
      Mac.create(secret, `snapshots of shard ${shard}`),
    ]);
    return new ShardKey(rows, snapshots, keyedFrom[shard] ?? 1);
  }

  /** Called at the start of a thread that reads the journals of all shards. */
  static async forAll<Options extends { readonly journalKey: JournalKey; readonly journalPaths: readonly string[] }>(
    options: Options,
  ): Promise<Keyed<Options>> {
    const { journalKey, ...others } = options;
    const keys = await Promise.all(options.journalPaths.map((_, shard) => ShardKey.create(journalKey, shard)));
    return { ...others, keys };
  }

  /** For an operator who vouches for the existing records and snapshots: none of them needs a tag. */
  unchecked(): ShardKey {
    return new ShardKey(this.rows, null, Number.MAX_SAFE_INTEGER);
  }

  private constructor(rows: Mac, snapshots: Mac | null, keyedFrom: number) {
    this.rows = rows;
    this.snapshots = snapshots;
    this.keyedFrom = keyedFrom;
  }
}
