/** A member that comes back goes on where its journal agrees with the log (REJOIN-1 to REJOIN-3). */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { crcOf, JournalHead, type Row } from '../../../../engine/journal/row.ts';
import { headText, type LoggedRows, rejoin, rejoinedText } from '../../../../engine/replication/rejoin.ts';
import { journalWith, rowHistory, rowsIn } from '../../../support/rowHistory.ts';

/** A log with these rows, except the first ones, which were trimmed. */
function logWith(rows: readonly Row[], trimmed = 0): LoggedRows {
  const kept = rows.slice(trimmed);
  const after = trimmed === 0 ? 0 : rows[trimmed - 1]!.sequence;
  return {
    range: async () => ({ after, last: rows.at(-1)?.sequence ?? 0, head: null }),
    row: async (sequence) => kept.find((row) => row.sequence === sequence)?.bytes ?? null,
    oldest: async () => kept[0] ?? null,
  };
}

/** A log without a row, which was founded with these. */
function foundedWith(rows: readonly Row[]): LoggedRows {
  const head = new JournalHead(0, 0, 0);
  for (const row of rows) head.advance(crcOf(row.bytes), row.sequence);
  return { ...logWith([]), range: async () => ({ after: head.sequence, last: head.sequence, head: headText(head) }) };
}

const PROOF = 'as the test says';
const COMMON = rowHistory([1, 3, 2], 1000);
const OWN = rowHistory([2, 1, 4], 5000, COMMON);
const OTHER = rowHistory([2, 1, 4], 6000, COMMON);
const plain = (rows: readonly Row[]) =>
  rows.map(({ sequence, bytes }) => [sequence, Buffer.from(bytes).toString('hex')]);

for (const [what, rows, log] of [
  ['has all that the log has', COMMON, logWith(COMMON)],
  ['lacks rows that the log has', COMMON.slice(0, 1), logWith(OWN)],
  ['is empty', [], logWith(OWN)],
  ['ends where the rows of a trimmed log start', COMMON, logWith(OWN, 3)],
  ['is what the log was founded with', COMMON, foundedWith(COMMON)],
] as const) {
  test(`a journal that ${what} stays as it is`, async () => {
    const file = journalWith(rows);
    const rejoined = await rejoin(file, log, 'now', null);
    assert.deepEqual(rejoined, { shard: 0, sequence: rows.at(-1)?.sequence ?? 0, setAside: null });
    assert.deepEqual(plain(rowsIn(file)), plain(rows));
    assert.match(rejoinedText(rejoined), /^shard 0: the journal agrees with the log up to record \d+$/);
  });
}

for (const [what, log] of [
  ['rows that the log never took', logWith(COMMON)],
  ['rows in the place of which another leader has written others', logWith(rowHistory([2, 2, 2, 2], 7000, COMMON))],
  ['rows in the place of which there are others that end elsewhere', logWith(rowHistory([3, 5], 7000, COMMON))],
  ['rows that the log never took, and a trimmed log', logWith(COMMON, 2)],
  ['rows that the log never took, and a log trimmed to its end', logWith(COMMON, 3)],
] as const) {
  test(`a journal with ${what} goes on after the last common row, and the others are in a file`, async () => {
    const file = journalWith(OWN);
    const rejoined = await rejoin(file, log, '20260101T000000Z', PROOF);
    const path = join(dirname(file.journalPath), 'journal-0.unshared-20260101T000000Z.db');
    assert.deepEqual(rejoined, {
      shard: 0,
      sequence: 6,
      setAside: { from: 7, to: 13, path, proof: PROOF, snapshots: 0 },
    });
    assert.deepEqual(plain(rowsIn(file)), plain(COMMON));
    assert.deepEqual(plain(rowsIn(file, path)), plain(OWN.slice(3)));
    assert.match(
      rejoinedText(rejoined),
      /records 7 to 13 were on this machine only and never acknowledged \(as the test says\)/,
    );
    const again = await rejoin(file, log, 'later', null);
    assert.equal(again.setAside, null, 'the next start has nothing to set aside');
  });
}

test('snapshots of rows that are set aside are set aside too: others may come in the place of those rows', async () => {
  const file = journalWith(OWN);
  const directory = dirname(file.journalPath);
  for (const sequence of [3, 6, 7, 13]) writeFileSync(join(directory, `snapshot-0-${sequence}.bin`), `${sequence}`);
  writeFileSync(join(directory, 'snapshot-1-13.bin'), 'of another shard');
  writeFileSync(join(directory, 'snapshot-0-13.unshared.bin'), 'set aside before');
  const rejoined = await rejoin(file, logWith(COMMON), 'now', PROOF);
  assert.match(rejoinedText(rejoined), /set aside in .*journal-0\.unshared-now\.db, with snapshots of them: 2; /);
  const left = readdirSync(directory).filter((name) => name.startsWith('snapshot-'));
  assert.deepEqual(left.sort(), [
    ...['snapshot-0-13.unshared-2.bin', 'snapshot-0-13.unshared.bin', 'snapshot-0-3.bin', 'snapshot-0-6.bin'],
    ...['snapshot-0-7.unshared.bin', 'snapshot-1-13.bin'],
  ]);
  assert.equal(readFileSync(join(directory, 'snapshot-0-13.unshared.bin'), 'utf8'), 'set aside before');
});

test('rows that are set aside at the same time as others take nothing from the file of those', async () => {
  const file = journalWith(OWN);
  const path = join(dirname(file.journalPath), 'journal-0.unshared-now.db');
  writeFileSync(path, 'set aside before');
  const { setAside } = await rejoin(file, logWith(COMMON), 'now', PROOF);
  assert.equal(basename(setAside!.path), 'journal-0.unshared-now-2.db');
  assert.deepEqual(plain(rowsIn(file, setAside!.path)), plain(OWN.slice(3)));
  assert.equal(readFileSync(path, 'utf8'), 'set aside before');
});

for (const [what, file, log, reason] of [
  [
    'that the log has trimmed',
    journalWith(COMMON.slice(0, 2)),
    logWith(OWN, 4),
    /ends at 4, and the log holds shard 0 only from/,
  ],
  ['of another history', journalWith(rowHistory([1, 3, 2], 9000)), logWith(OWN, 3), /no row in common/],
  ['of another history than the log was founded with', journalWith(OWN), foundedWith(OTHER), /no row in common/],
  [
    'that may have been held',
    journalWith(OWN),
    logWith(COMMON),
    /up to record 6 only, and records up to 13 may have been held/,
  ],
] as const) {
  test(`a journal with records ${what} is refused, and nothing is changed`, async () => {
    const before = [
      plain(rowsIn(file)),
      readdirSync(dirname(file.journalPath)).filter((name) => name.includes('unsh')),
    ];
    await assert.rejects(rejoin(file, log, 'now', null), reason);
    const after = [plain(rowsIn(file)), readdirSync(dirname(file.journalPath)).filter((name) => name.includes('unsh'))];
    assert.deepEqual(after, before, basename(file.journalPath));
  });
}
