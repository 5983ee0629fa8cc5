/**
 * Answers as records of the replicated log: the rows of one transaction of idempotency.db.
 *
 *   record   version 1 · link · settledMs + 1, or 0 · nowMs · number of rows · row …
 *   link     16 bytes: of the SHA-256 of the record before, zeros for the first
 *   row      account · route · key, 16 bytes · fingerprint, 16 bytes · status · createdMs · body
 */
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { ByteReader, ByteWriter, RecordError } from '../../shared/records/bytes.ts';
import { LINK_BYTES } from '../../shared/records/statements.ts';
import type { AnswerBatch, KeyedAnswer } from './answerBatch.ts';

type AnswerRecord = { readonly link: Uint8Array; readonly batch: AnswerBatch };

const VERSION = 1;

export function encodeAnswers({ link, batch: { rows, settledMs, nowMs } }: AnswerRecord): Buffer {
  const writer = new ByteWriter();
  writer.byte(VERSION);
  writer.raw(link);
  writer.number(settledMs === null ? 0 : settledMs + 1);
  writer.number(nowMs);
  writer.number(rows.length);
  for (const row of rows) {
    writer.number(row.account);
    writer.number(row.route);
    writer.raw(row.key);
    writer.raw(row.fingerprint);
    writer.number(row.status);
    writer.number(row.createdMs);
    writer.text(row.body);
  }
  return writer.done();
}

/** Throws a RecordError for bytes that are no such record. */
export function decodeAnswers(bytes: Uint8Array): AnswerRecord {
  const reader = new ByteReader(bytes);
  const version = reader.byte();
  if (version !== VERSION) throw new RecordError(`answers of version ${version}, which this version cannot read`);
  const link = new Uint8Array(reader.raw(LINK_BYTES));
  const settled = reader.number();
  const nowMs = reader.number();
  const rows: KeyedAnswer[] = [];
  for (let left = reader.number(); left > 0; left--) {
    rows.push({
      account: reader.number(),
      route: reader.number(),
      key: new Uint8Array(reader.raw(UUID_BYTES)),
      fingerprint: new Uint8Array(reader.raw(UUID_BYTES)),
      status: reader.number(),
      createdMs: reader.number(),
      body: reader.text(),
    });
  }
  if (!reader.isAtEnd) throw new RecordError('answers with bytes after their end');
  return { link, batch: { rows, settledMs: settled === 0 ? null : settled - 1, nowMs } };
}
