/**
 * Takes the records that followed a point of a backup, up to a given time, from the rows of a later point. control.db
 * exists only as of points. So the journals continue without it only while their records are trading for which this
 * control.db has everything: the accounts, the markets, and the deposits and withdrawals that it ordered.
 *
 * Invariants:
 *   LATERRECORDS-1  All journals are cut at one time, record by record: records of that millisecond or later are left
 *                   out. So no record is kept that depends on a record that is left out, of whichever shard.
 *   LATERRECORDS-2  The first record, of any shard, that needs a newer control.db is such a cut.
 */
import type Database from 'better-sqlite3';
import { openDatabase } from '../../shared/base/openDatabase.ts';
import { type Command, decodeCommand, NO_MARKET } from '../../shared/wire/commands.ts';
import type { Journal } from '../journal/journal.ts';
import type { JournalRecord } from '../journal/journalRecord.ts';
import { JournalHead } from '../journal/row.ts';
import { RowReader } from '../journal/rowReader.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import type { BackedJournal, Point } from './point.ts';
import { rowsOf } from './segments.ts';
import type { BackupStore } from './store.ts';

/** The reason why the journals cannot continue. */
type Foreign = {
  readonly shard: number;
  readonly sequence: number;
  readonly timeMs: number;
  readonly what: string;
};

/** Commands of clients and of the clock, which need nothing of control.db but accounts and markets. */
const TRADING: ReadonlySet<string> = new Set<Command['name']>([
  ...(['PLACE', 'REPLACE', 'CANCEL', 'CANCEL_MANY', 'SWEEP', 'CONVERT', 'TICK', 'STEP', 'GROUP_TRIP'] as const),
  'CONVERT_SET',
]);
const COMMIT_RECORDS = 1000;

export class LaterRecords {
  /** LATERRECORDS-2 */
  readonly foreign: Foreign | null;
  /** LATERRECORDS-1 */
  readonly beforeMs: number;
  readonly #store: BackupStore;
  readonly #later: Point;

  /** @param later the first point after `point`. @param controlPath the path of the point's control.db. */
  static async find(
    store: BackupStore,
    { point, later }: { readonly point: Point; readonly later: Point },
    {
      controlPath,
      keyOf,
      beforeMs,
    }: {
      readonly controlPath: string;
      readonly keyOf: (shard: number) => Promise<ShardKey>;
      readonly beforeMs: number;
    },
  ): Promise<LaterRecords> {
    const control = openDatabase(controlPath, { readonly: true });
    try {
      const known = new KnownCauses(control);
      let foreign: Foreign | null = null;
      for (const journal of point.journals) {
        const limitMs = foreign?.timeMs ?? beforeMs;
        const found = firstForeign(store, { journal, later, key: await keyOf(journal.shard), limitMs }, known);
        if (found !== null) foreign = found;
      }
      return new LaterRecords(store, later, foreign, foreign?.timeMs ?? beforeMs);
    } finally {
      control.close();
    }
  }

  private constructor(store: BackupStore, later: Point, foreign: Foreign | null, beforeMs: number) {
    this.#store = store;
    this.#later = later;
    this.foreign = foreign;
    this.beforeMs = beforeMs;
  }

  /** Appends the records to the journal, which ends where the point ends. */
  append(before: BackedJournal, journal: Journal, key: ShardKey): void {
    let count = 0;
    eachRecord(this.#store, { journal: before, later: this.#later, key }, (record) => {
      if (record.timeMs >= this.beforeMs) return false;
      journal.append(record);
      if (++count % COMMIT_RECORDS === 0) journal.commit();
      return true;
    });
    journal.commit();
  }
}

type Source = {
  readonly journal: Pick<BackedJournal, 'shard' | 'last' | 'chainLow' | 'chainHigh'>;
  readonly later: Point;
  readonly key: ShardKey;
};

/** LATERRECORDS-2. Looks at one shard, before a given time. */
function firstForeign(
  store: BackupStore,
  source: Source & { readonly limitMs: number },
  known: KnownCauses,
): Foreign | null {
  const { shard } = source.journal;
  let foreign: Foreign | null = null;
  eachRecord(store, source, ({ sequence, timeMs, command }) => {
    if (timeMs >= source.limitMs) return false;
    const what = known.missing(decodeCommand(command.words, command.word));
    if (what !== null) foreign = { shard, sequence, timeMs, what };
    return what === null;
  });
  return foreign;
}

/**
 * Visits the records of `later` after a head in order, until `visit` returns false. Each record is checked as at a
 * start.
 */
export function eachRecord(
  store: BackupStore,
  { journal, later, key }: Source,
  visit: (record: JournalRecord) => boolean,
): void {
  const next = later.journals[journal.shard];
  const reader = new RowReader(`journal-${journal.shard}.db`, key);
  const head = new JournalHead(journal.last, journal.chainLow, journal.chainHigh);
  for (const segment of next.segments) {
    if (segment.last <= journal.last) continue;
    for (const row of rowsOf(store.part(segment.part))) {
      if (row.sequence <= journal.last) continue;
      reader.load(row, head);
      let goesOn = true;
      reader.show((record) => {
        if (goesOn) goesOn = visit(record);
      });
      if (!goesOn) return;
    }
  }
}

/** The causes of records, as far as a control.db knows them. */
class KnownCauses {
  readonly #accounts: number;
  readonly #markets: number;
  readonly #movement: Database.Statement<[Uint8Array], number>;

  constructor(control: Database.Database) {
    const highest = (sql: string): number => control.prepare<[], number | null>(sql).pluck().get() ?? -1;
    this.#accounts = highest('SELECT max(account_index) FROM users');
    this.#markets = highest('SELECT max(market_index) FROM markets');
    this.#movement = control
      .prepare<[Uint8Array], number>("SELECT 1 FROM movements WHERE reference_hash = ? AND status <> 'refused'")
      .pluck();
  }

  /** Says in words what the record needs and control.db lacks; null if it lacks nothing. */
  missing(command: Command): string | null {
    const { name, account, market } = command;
    const ofMarket = market <= this.#markets || market === NO_MARKET;
    if (account > this.#accounts) return `a ${name} of an account that was made later`;
    if (!ofMarket) return `a ${name} of a market that was made later`;
    if (TRADING.has(name)) return null;
    if (name !== 'FUNDS') return `a ${name}`;
    return this.#movement.get(command.reference) === undefined
      ? 'a deposit or withdrawal that was ordered later'
      : null;
  }
}
