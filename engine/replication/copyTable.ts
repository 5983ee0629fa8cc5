/**
 * The tables through which a joining member receives a copy of another member's files (data/schema/log.sql): its
 * request, and the parts of the copy, only a few at a time. Members communicate only through the database, so a member
 * that may read the log may join, and no other port has to be open.
 *
 * Invariants:
 *   COPYTABLE-1  All parts of an attempt come from one giver. A member that receives no further parts begins a new
 *                attempt.
 *   COPYTABLE-2  When an attempt is over, the remaining side deletes its parts, or else the next member that asks for a
 *                copy does. No parts are added to it.
 */
import type { Statement } from './command.ts';

/** A connection that does not wait for the standbys of the database. */
export type Reader = { read<Row>(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> };
export type Part = { readonly part: number; readonly name: string; readonly bytes: Uint8Array };
/** The joining member and its attempt. */
export type Attempt = { readonly holder: string; readonly attempt: string };

/** The leader gives a copy only if there is no standby, or none has offered one for this long. */
const LEADER_WAITS_MS = 3000;
/** A giver or joining member that was silent for this long is gone. */
export const GONE_MS = 15_000;
const PARTS_AT_ONCE = 4;

export class CopyTable {
  readonly #reader: Reader;
  readonly #cluster: string;

  constructor(reader: Reader, cluster: string) {
    this.#reader = reader;
    this.#cluster = cluster;
  }

  /** Asks for a copy; replaces an earlier request. @param files the newest format of files that it can use */
  async ask({ holder, attempt }: Attempt, files: number): Promise<void> {
    await this.#reader.read(SQL.ask, [this.#cluster, holder, attempt, files]);
  }

  /** Returns a request that this member should answer, or null. @param files the format of its files */
  async claim(holder: string, isLeader: boolean, files: number): Promise<Attempt | null> {
    const values = [this.#cluster, holder, isLeader ? LEADER_WAITS_MS : 0, GONE_MS, files];
    return (await this.#reader.read<Attempt>(SQL.claim, values))[0] ?? null;
  }

  /** Reports that the giver is at work. @returns the number of parts not taken yet; null if the other side is gone */
  async giving({ holder, attempt }: Attempt): Promise<number | null> {
    const [found] = await this.#reader.read<{ left: number }>(SQL.giving, [this.#cluster, holder, attempt, GONE_MS]);
    return found?.left ?? null;
  }

  async put({ attempt }: Attempt, { part, name, bytes }: Part): Promise<void> {
    const copy = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    await this.#reader.read(SQL.put, [this.#cluster, attempt, part, name, copy]);
  }

  async fail({ holder, attempt }: Attempt, problem: string): Promise<void> {
    await this.#reader.read(SQL.fail, [this.#cluster, holder, attempt, problem]);
  }

  /** Reports that the joining member is present. @returns the giver's name; null if the attempt has ended */
  async joining({ holder, attempt }: Attempt): Promise<{ readonly giver: string; readonly problem: string } | null> {
    type Found = { giver: string; problem: string; isGone: boolean };
    const [found] = await this.#reader.read<Found>(SQL.joining, [this.#cluster, holder, attempt, GONE_MS]);
    return found === undefined || found.isGone ? null : found;
  }

  /** Returns the next parts from a number on, and deletes the parts before it. */
  async take({ attempt }: Attempt, from: number): Promise<readonly Part[]> {
    return this.#reader.read<Part>(SQL.take, [this.#cluster, attempt, from, PARTS_AT_ONCE]);
  }

  /** Ends the attempt and deletes its rows. */
  async end({ holder, attempt }: Attempt): Promise<void> {
    await this.#reader.read(SQL.end, [this.#cluster, holder, attempt]);
  }
}

const AGO = `clock_timestamp() - $4::int * interval '1 millisecond'`;

const SQL = {
  ask: statement(
    'askCopy',
    `WITH others AS (
       DELETE FROM exchange_copy WHERE cluster = $1
         AND attempt NOT IN (SELECT attempt FROM exchange_join WHERE cluster = $1 AND holder <> $2)
     )
     INSERT INTO exchange_join (cluster, holder, attempt, asked_at, seen_at, giver, given_at, problem, files)
     VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp(), '', clock_timestamp(), '', $4)
     ON CONFLICT (cluster, holder) DO UPDATE SET attempt = excluded.attempt, asked_at = excluded.asked_at,
       files = excluded.files, seen_at = excluded.seen_at, giver = '', given_at = excluded.given_at, problem = ''`,
  ),
  claim: statement(
    'claimCopy',
    `UPDATE exchange_join SET giver = $2, given_at = clock_timestamp()
     WHERE (cluster, holder) IN (
       SELECT cluster, holder FROM exchange_join WHERE cluster = $1 AND holder <> $2 AND giver = '' AND seen_at > ${AGO}
         AND files >= $5
         AND (asked_at <= clock_timestamp() - $3::int * interval '1 millisecond' OR NOT EXISTS (
           SELECT FROM exchange_member AS other WHERE other.cluster = $1
             AND other.holder NOT IN ($2, exchange_join.holder) AND other.seen_at > ${AGO}
         ))
       ORDER BY asked_at LIMIT 1 FOR UPDATE SKIP LOCKED
     ) RETURNING holder, attempt`,
  ),
  giving: statement(
    'givingCopy',
    `UPDATE exchange_join SET given_at = clock_timestamp()
     WHERE cluster = $1 AND holder = $2 AND attempt = $3 AND seen_at > ${AGO}
     RETURNING (SELECT count(*) FROM exchange_copy WHERE cluster = $1 AND attempt = $3)::int AS left`,
  ),
  put: statement(
    'putCopy',
    `INSERT INTO exchange_copy (cluster, attempt, part, name, bytes) SELECT $1, $2, $3::bigint, $4, $5::bytea
     WHERE EXISTS (SELECT FROM exchange_join WHERE cluster = $1 AND attempt = $2)`,
  ),
  fail: statement(
    'failCopy',
    'UPDATE exchange_join SET problem = $4 WHERE cluster = $1 AND holder = $2 AND attempt = $3',
  ),
  joining: statement(
    'joiningCopy',
    `UPDATE exchange_join SET seen_at = clock_timestamp() WHERE cluster = $1 AND holder = $2 AND attempt = $3
     RETURNING giver, problem, giver <> '' AND given_at < ${AGO} AS "isGone"`,
  ),
  take: statement(
    'takeCopy',
    `WITH taken AS (DELETE FROM exchange_copy WHERE cluster = $1 AND attempt = $2 AND part < $3::bigint)
     SELECT part, name, bytes FROM exchange_copy WHERE cluster = $1 AND attempt = $2 AND part >= $3::bigint
     ORDER BY part LIMIT $4`,
  ),
  end: statement(
    'endCopy',
    `WITH parts AS (DELETE FROM exchange_copy WHERE cluster = $1 AND attempt = $3)
     DELETE FROM exchange_join WHERE cluster = $1 AND holder = $2 AND attempt = $3`,
  ),
} as const;

function statement(name: string, text: string): Statement {
  return { name, text };
}
