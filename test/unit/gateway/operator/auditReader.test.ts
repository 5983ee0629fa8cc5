/** Pages of the audit log (RULES.md 9.14): newest first, filtered, and never started in the middle of a line. */
import assert from 'node:assert/strict';
import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AuditReader } from '../../../../gateway/operator/auditReader.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const START_MS = Date.parse('2030-01-01T00:00:00Z');

/** A log with these records, each a second after the one before. */
function logOf(records: readonly object[]) {
  const path = join(temporaryDirectory(), 'audit.log');
  const log = { lengthBytes: 0 };
  const add = (record: object | string, sequence: number): void => {
    const time = new Date(START_MS + sequence * 1000).toISOString();
    const text = typeof record === 'string' ? record : JSON.stringify({ sequence, time, ...record });
    appendFileSync(path, `${text}\n`);
    log.lengthBytes = statSync(path).size;
  };
  records.forEach(add);
  const reader = new AuditReader(path, log);
  const page = async (filter: Parameters<AuditReader['page']>[0], limit = 100, cursor?: string) => {
    const found = await reader.page(filter, limit, cursor);
    return found === null
      ? null
      : { sequences: found.lines.map((line) => JSON.parse(line).sequence), next: found.next };
  };
  return { path, log, page, add };
}

const RECORDS = [
  { event: 'start' },
  { event: 'change', operator: 'ada', path: '/admin/users' },
  { event: 'result', operator: 'ada', of: 1 },
  { event: 'change', operator: 'eve', path: '/admin/users/7/state' },
  { event: 'change', operator: 'ada', path: '/admin/markets' },
];

test('a filter returns records that match all of its fields', async () => {
  const { page } = logOf(RECORDS);
  const sequences = async (filter: Parameters<typeof page>[0]) => (await page(filter))!.sequences;
  assert.deepEqual(await sequences({}), [4, 3, 2, 1, 0]);
  assert.deepEqual(await sequences({ event: 'change' }), [4, 3, 1]);
  assert.deepEqual(await sequences({ operator: 'ada' }), [4, 2, 1]);
  assert.deepEqual(await sequences({ operator: 'ada', event: 'change' }), [4, 1]);
  assert.deepEqual(await sequences({ path: '/admin/users' }), [3, 1]);
  assert.deepEqual(await sequences({ path: 'admin' }), []);
  assert.deepEqual(await sequences({ sinceMs: START_MS + 3000 }), [4, 3], 'from this time on');
  assert.deepEqual(await sequences({ untilMs: START_MS + 3000 }), [2, 1, 0], 'before this time');
  assert.deepEqual(await sequences({ sinceMs: START_MS + 1000, untilMs: START_MS + 4000, event: 'change' }), [3, 1]);
});

test('pages follow each other without a gap, and a made up cursor is none', async () => {
  const { page, add } = logOf(RECORDS);
  const first = (await page({}, 2))!;
  assert.deepEqual(first.sequences, [4, 3]);
  add({ event: 'change' }, 5);
  const second = (await page({}, 2, first.next!))!;
  assert.deepEqual(second.sequences, [2, 1], 'whatever was written meanwhile');
  const third = (await page({}, 2, second.next!))!;
  assert.deepEqual([third.sequences, third.next], [[0], null]);
  const exact = (await page({}, 6))!;
  assert.deepEqual([exact.sequences.length, exact.next], [6, null], 'a full page that ends with the first record');
  const cursor = (text: string): string => Buffer.from(text).toString('base64url');
  const [, offset] = Buffer.from(first.next!, 'base64url').toString().split('.');
  for (const made of ['', 'x', cursor('3'), cursor(`2.${offset}`), cursor('3.1'), cursor('3.999999'), cursor(`0.0`)]) {
    assert.equal(await page({}, 2, made), null, made);
  }
});

test('a line that was damaged hides no other, and bytes that are not durable yet are not read', async () => {
  const { page, add, path } = logOf(RECORDS);
  add('{"sequence":5,"time"', 5);
  add({ event: 'change' }, 6);
  appendFileSync(path, '{"sequence":7}\n');
  assert.deepEqual((await page({}))!.sequences, [6, 4, 3, 2, 1, 0]);
});

test('a page is bounded by its bytes; one record of any size is a page', async () => {
  const { page } = logOf([{ event: 'start' }, { pad: 'x'.repeat(300_000) }, { pad: 'x'.repeat(200_000) }, { n: 1 }]);
  const first = (await page({}))!;
  assert.deepEqual(first.sequences, [3, 2]);
  const second = (await page({}, 100, first.next!))!;
  assert.deepEqual(second.sequences, [1]);
  const third = (await page({}, 100, second.next!))!;
  assert.deepEqual([third.sequences, third.next], [[0], null]);
});

test('a request reads a few MiB of records that do not match, and goes on where it stopped', async () => {
  const pad = 'x'.repeat(100_000);
  const { page } = logOf([{ event: 'start' }, ...Array.from({ length: 60 }, () => ({ event: 'change', pad }))]);
  const first = (await page({ event: 'start' }))!;
  assert.deepEqual(first.sequences, []);
  assert.notEqual(first.next, null);
  const second = (await page({ event: 'start' }, 100, first.next!))!;
  assert.deepEqual([second.sequences, second.next], [[0], null]);
});
