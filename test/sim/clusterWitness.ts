/**
 * Clients of a simulated cluster know this, beside everything that the cluster itself keeps: the rows that the log
 * was seen to take, and how far each stream was acknowledged. Disasters are judged by it, never by a member's own word.
 *
 * Invariants:
 *   WITNESS-1  A row in which something acknowledged stands is never replaced by another one in the log.
 *   WITNESS-2  Nothing acknowledged leaves the files of a member, unless an operator has given exactly that up.
 */
import assert from 'node:assert/strict';
import { firstSequenceOf, type Row } from '../../engine/journal/row.ts';
import { type LogRow, STREAM } from '../../shared/wire/replication.ts';

/** The bytes of the row that ends with, or contains, this record; null if there is none. */
export type RowsOf = (stream: number, sequence: number) => Uint8Array | null;

/** Records of a stream that an operator has given up. */
export type GivenUp = { readonly stream: number; readonly from: number; readonly to: number };

export class Witness {
  /** It grows with everything that changes. */
  version = 0;
  /** By stream: the last record that a client knows. */
  readonly #acknowledged = new Map<number, number>();
  /** By stream: the rows that the log held, in order. */
  readonly #rows = new Map<number, Row[]>();

  acknowledged(stream: number): number {
    return this.#acknowledged.get(stream) ?? 0;
  }

  /** WITNESS-1. The log holds a row. */
  held({ stream, sequence, bytes }: Pick<LogRow, 'stream' | 'sequence' | 'bytes'>): void {
    const rows = this.#rows.get(stream) ?? [];
    this.#rows.set(stream, rows);
    const first = firstOf({ stream, sequence, bytes });
    const place = rows.findIndex((row) => row.sequence >= first);
    const at = place < 0 ? rows.length : place;
    const found = rows[at];
    if (found?.sequence === sequence && isSame(found.bytes, bytes)) return;
    // A restored log has rows that were not seen before: they are not in the place of others.
    const isOther = found !== undefined && firstOf({ stream, ...found }) <= sequence;
    const acknowledged = this.acknowledged(stream);
    if (isOther) {
      assert.ok(
        first > acknowledged,
        `WITNESS-1: row ${sequence} of stream ${stream}, ${acknowledged} was acknowledged`,
      );
      rows.length = at;
    }
    rows.splice(at, 0, { sequence, bytes });
    this.version++;
  }

  /** Clients were told of everything up to this record. */
  acknowledge(stream: number, sequence: number): void {
    if (sequence <= this.acknowledged(stream)) return;
    this.#acknowledged.set(stream, sequence);
    this.version++;
  }

  /** Returns the streams in which something acknowledged is missing. */
  missing(rowOf: RowsOf): number[] {
    return [...this.#acknowledged].flatMap(([stream, sequence]) => {
      if (sequence === 0) return [];
      const row = this.#rows.get(stream)?.find((each) => each.sequence >= sequence);
      assert.ok(row !== undefined, `what was acknowledged of stream ${stream} was held by the log`);
      const found = rowOf(stream, row.sequence);
      return found !== null && isSame(found, row.bytes) ? [] : [stream];
    });
  }

  /** Returns the last record of a stream up to which nothing is missing. */
  commonEnd(stream: number, rowOf: RowsOf): number {
    const row = this.#rows.get(stream)?.findLast((each) => {
      const found = rowOf(stream, each.sequence);
      return found !== null && isSame(found, each.bytes);
    });
    return row?.sequence ?? 0;
  }

  /** For the gateway's streams: the texts that clients have received. */
  texts(stream: number): string[] {
    const end = this.acknowledged(stream);
    const rows = this.#rows.get(stream) ?? [];
    return rows.filter(({ sequence }) => sequence <= end).map(({ bytes }) => Buffer.from(bytes).toString());
  }

  /** The word of an operator: these records may go. */
  giveUp({ stream, from }: GivenUp): void {
    const acknowledged = this.acknowledged(stream);
    if (from > acknowledged) return;
    this.version++;
    this.#acknowledged.set(stream, from - 1);
    const rows = this.#rows.get(stream) ?? [];
    const at = rows.findIndex(({ sequence }) => sequence >= from);
    if (at >= 0) rows.length = at;
  }
}

function firstOf({ stream, sequence, bytes }: { readonly stream: number } & Row): number {
  return stream < STREAM.CONTROL ? firstSequenceOf({ sequence, bytes }) : sequence;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
