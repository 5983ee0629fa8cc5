/**
 * The layouts in which members of a cluster give each other data through the log, each with a number. Members of
 * different versions meet during an upgrade (data/docs/cluster.md): each says which numbers it knows, and a leader
 * writes what all of them can read (RULES.md 18.15 to 18.17).
 *
 * A change that an older version cannot read raises the number of its layout here. `newest` is the highest number that
 * this version reads, and writes once the cluster is raised to it; every lower number is read as well. `oldest` is the
 * lowest number that it can still write. If `oldest` is raised too, the first lead of this version shuts older members
 * out, so a change that can be written both ways keeps it for one release.
 *
 * Invariants:
 *   FORMATS-1  All rows of one lead have the same numbers. They are fixed in the statement that takes the lease, and
 *              never lower than those of a lead before.
 *   FORMATS-2  A member that does not know a number, or the name of a layout, follows no rows written in it, and does
 *              not lead.
 */
import { namesOf } from './namesOf.ts';

type Span = { readonly newest: number; readonly oldest: number };
export type KnownFormats = Readonly<Record<string, Span>>;
/** One number for each layout. */
export type Numbers = Readonly<Record<string, number>>;

/** Layouts of the log, most of which files have as well. */
const LOGGED = {
  /** Lines of audit.log (shared/crypto/auditChain.ts). */
  audit: { newest: 1, oldest: 1 },
  /** Records of idempotency.db, its tables among them. */
  answers: { newest: 2, oldest: 2 },
  /**
   * The tables that records of control.db write to: the number of its newest migration. A member migrates its file when
   * it starts, whatever is written: a migration that only adds tables and columns keeps `oldest` for one release, and
   * the changes that need them are refused until the cluster is raised (CONTROLRECORDS-3).
   */
  control: { newest: 28, oldest: 28 },
  /**
   * Commands and their events, and what a command does in a given state: a member that runs it again gets the same
   * events, byte for byte, in every later version. From 5 on the number in force is a record of each journal: a change
   * of a rule or of a field raises it, and begins where the RULES record stands (engine/core/rules.ts). 6 has event
   * sets.
   */
  engine: { newest: 6, oldest: 5 },
  /** Rows of the journals of shards (engine/journal/row.ts). */
  journal: { newest: 3, oldest: 3 },
  /** Records of statements (shared/records/statements.ts). */
  records: { newest: 1, oldest: 1 },
  /**
   * The tables that records of settlement.db write to, in the same way (SETTLEFILE-4). A table of derived rows that a
   * migration adds is local (engine/settlement/recordedTables.ts) for one release: older members do not derive them.
   */
  settlement: { newest: 4, oldest: 4 },
} as const satisfies KnownFormats;

/** Layouts that only files have. A change raises its number. */
export const FILE_LAYOUTS = {
  /** Files of the archive of orders (shared/tables/orderArchive.ts). */
  archive: 2,
  /** The parts of a copy (engine/replication/giving.ts). */
  copy: 1,
  /** The log of private frames (gateway/stream/privateSegment.ts). */
  privateFrames: 3,
  /** The schema of read.db, and what the projector writes into it (shared/tables/readDb.ts). */
  readDb: 31,
  /** Snapshots of shards (engine/snapshot/snapshot.ts). */
  snapshot: 18,
} as const;

const NUMBERS_OF_FILES = [...Object.values(LOGGED).map(({ newest }) => newest), ...Object.values(FILE_LAYOUTS)];

export const FORMATS = {
  ...LOGGED,
  /**
   * Files as a member that joins gets them: one that cannot read a copy is given none. The sum of all numbers, so that
   * a change of one of them raises this one, too. Nothing of the log is written in it, so its `oldest` stays.
   */
  files: { newest: NUMBERS_OF_FILES.reduce((sum, number) => sum + number, 0), oldest: 1 },
} as const satisfies KnownFormats;

export type Layout = keyof typeof FORMATS;
export const LAYOUTS = namesOf(FORMATS);

/** The newest number of each layout. */
export function newestOf(known: KnownFormats): Numbers {
  return Object.fromEntries(Object.entries(known).map(([name, { newest }]) => [name, newest]));
}

/** FORMATS-1. The numbers of a lead of a member, in a cluster that was raised to `raised`. */
export function formatsOfLead(raised: Numbers, known: KnownFormats): Numbers {
  const own = Object.entries(known).map(([name, { oldest }]) => [name, Math.max(oldest, raised[name] ?? 0)]);
  return { ...raised, ...Object.fromEntries(own) };
}

/** FORMATS-2. Numbers that a member cannot read, as `journal 4 (3 at most)`; null: it can read all of this. */
export function unreadable(written: Numbers, known: KnownFormats): string | null {
  const found = Object.entries(written).flatMap(([name, number]) => {
    const newest = known[name]?.newest ?? 0;
    return number > newest ? [`${name} ${number} (${newest === 0 ? 'unknown' : `${newest} at most`})`] : [];
  });
  return found.length === 0 ? null : found.join(', ');
}

/** For each layout the higher number. */
export function highest(a: Numbers, b: Numbers): Numbers {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return Object.fromEntries(names.map((name) => [name, Math.max(a[name] ?? 0, b[name] ?? 0)]));
}

/** The numbers that all of these members can read; a layout that one of them does not know is 0. */
export function commonTo(members: readonly KnownFormats[]): Numbers {
  const names = [...new Set(members.flatMap((known) => Object.keys(known)))].sort();
  return Object.fromEntries(names.map((name) => [name, Math.min(...members.map((known) => known[name]?.newest ?? 0))]));
}

/** The layouts in which `to` is higher, with both numbers. */
export function raisedFrom(from: Numbers, to: Numbers): readonly string[] {
  return Object.entries(to).flatMap(([name, number]) => {
    const before = from[name] ?? 0;
    return number > before ? [`${name} ${before} to ${number}`] : [];
  });
}

/** The form in the database: `journal=3 records=1`. */
export function numbersText(numbers: Numbers): string {
  return Object.entries(numbers)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, number]) => `${name}=${number}`)
    .join(' ');
}

export function numbersIn(text: string): Numbers {
  return Object.fromEntries(
    text.split(' ').flatMap((part) => {
      const [, name, number] = /^([a-z_]+)=(\d+)$/.exec(part) ?? [];
      return name === undefined ? [] : [[name, Number(number)]];
    }),
  );
}

/** As a member reports it: `journal=3-4`, from the oldest that it writes to the newest that it reads. */
export function knownText(known: KnownFormats): string {
  return Object.entries(known)
    .map(([name, { oldest, newest }]) => `${name}=${oldest}-${newest}`)
    .join(' ');
}

export function knownIn(text: string): KnownFormats {
  return Object.fromEntries(
    text.split(' ').flatMap((part) => {
      const [, name, oldest, newest] = /^([a-z_]+)=(\d+)-(\d+)$/.exec(part) ?? [];
      return name === undefined ? [] : [[name, { oldest: Number(oldest), newest: Number(newest) }]];
    }),
  );
}
