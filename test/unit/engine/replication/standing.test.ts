/**
 * A start compares all files of a member with the log, and refuses if the log lacks some of their rows (STANDING-1 to
 * STANDING-3).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Sqlite from 'better-sqlite3';
import type { Row } from '../../../../engine/journal/row.ts';
import type { FoundMark } from '../../../../engine/replication/heldMark.ts';
import type { LogHistory } from '../../../../engine/replication/log.ts';
import { lackedBy, requireStanding } from '../../../../engine/replication/standing.ts';
import { writeJournalKey } from '../../../../shared/crypto/journalKeyFile.ts';
import { STREAM } from '../../../../shared/wire/replication.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { TEST_SECRET } from '../../../support/journalKey.ts';
import { journalWith, rowHistory } from '../../../support/rowHistory.ts';

const MASTER_KEY = new Uint8Array(32);
const COMMON = rowHistory([1, 3, 2], 1000);
const OWN = rowHistory([2, 1, 4], 5000, COMMON);
const OTHERS = rowHistory([3, 5], 7000, COMMON);
const PLACE = { system: '1', timeline: 1, lsn: '0/50' };
/** The server is started once, then once more, then another one is promoted. */
const [RUN, AGAIN, OTHER] = ['1/1/5', '1/1/6', '1/2/7'];
const LEAD = { epoch: 1, lead: 11, start: 0, run: RUN };
const NEXT = { epoch: 2, lead: 22, start: 3, run: RUN };

const PROMOTED = { leads: [LEAD, { ...NEXT, run: OTHER }], run: OTHER };

/** A log of one stream; the row at each position belongs to a lead. */
function logOf(rows: readonly Row[], history: Partial<LogHistory> = {}, isWhole = false) {
  const named = rows.map((row, at) => {
    const lead = at < COMMON.length ? LEAD : NEXT;
    return { ...row, stream: 0, position: at + 1, epoch: lead.epoch, lead: lead.lead };
  });
  const of = { id: 'log', end: rows.length, place: PLACE, run: RUN, foundedOn: RUN };
  const all: LogHistory = { ...of, leads: [LEAD], bases: [], ...history };
  return {
    ends: async () => named.slice(-1),
    rowOf: async (stream: number, sequence: number) =>
      named.find((row) => row.stream === stream && row.sequence === sequence) ?? null,
    nameAt: async (position: number) => named[position - 1] ?? null,
    firstAfter: async (stream: number, sequence: number) =>
      named.find((row) => row.stream === stream && row.sequence > sequence) ?? null,
    history: async () => all,
    isWhole: async () => isWhole,
    all,
  };
}

function memberWith(rows: readonly Row[]) {
  const directory = temporaryDirectory();
  journalWith(rows, directory);
  writeJournalKey(directory, MASTER_KEY, TEST_SECRET);
  return { directory, shards: 1, masterKey: MASTER_KEY, records: [] };
}

/** The mark of a member that led, and has seen the common rows held. */
function markOf(changes: Partial<FoundMark> = {}): FoundMark {
  return {
    log: 'log',
    place: { system: '1', timeline: 1, run: RUN },
    lsn: '0/40',
    isLeader: true,
    isCopied: false,
    own: { epoch: 1, lead: 11 },
    last: { position: 3, epoch: 1, lead: 11, stream: 0, sequence: 6 },
    held: { 0: 6 },
    leads: [{ epoch: 1, lead: 11, first: 1 }],
    members: ['a', 'b'],
    isExact: false,
    ...changes,
  };
}

const stand = (rows: readonly Row[], log: ReturnType<typeof logOf>, mark: FoundMark | null) =>
  requireStanding(memberWith(rows), log, log.all, mark);

for (const [what, rows, log, mark, proof] of [
  ['has what the log has', COMMON, logOf(COMMON), markOf(), null],
  ['lacks what the log has', COMMON.slice(0, 1), logOf(OWN), markOf({ isLeader: false }), null],
  ['has no mark, and nothing that the log has not', COMMON, logOf(OWN), null, null],
  [
    'led, and the next lead was taken where it sent its rows',
    OWN,
    logOf(OTHERS, { leads: [LEAD, NEXT] }),
    markOf(),
    /never took/,
  ],
  ['led, and no one since, on the same run of the server', OWN, logOf(COMMON), markOf(), /never took/],
  [
    'led, and the next lead was taken there before the server was started again',
    OWN,
    logOf(OTHERS, { leads: [LEAD, NEXT, { ...NEXT, epoch: 3, lead: 33, run: AGAIN }], run: AGAIN }),
    markOf(),
    /never took/,
  ],
  [
    'led, and its mark is exact, although another server was promoted, which lacks nothing',
    OWN,
    logOf(OTHERS, PROMOTED, true),
    markOf({ isExact: true }),
    /answered no one/,
  ],
] as const) {
  test(`a member starts that ${what}`, async () => {
    const found = await stand(rows, log, mark);
    if (proof === null) assert.equal(found, null);
    else assert.match(found!, proof);
  });
}

for (const [what, rows, log, mark, reason] of [
  [
    'has seen more held than the log has, exact or not',
    OWN,
    logOf(COMMON),
    markOf({ held: { 0: 9 }, isExact: true }),
    /shard 0, records 7 to 9 \(held before; .*shard 0, records 10 to 13 \(unknown whether/,
  ],
  [
    'is a standby that has more than the log',
    OWN,
    logOf(COMMON),
    markOf({ isLeader: false }),
    /records 7 to 13 \(held before/,
  ],
  [
    'led with an exact mark, in a database that may have lost what a successor has answered',
    OWN,
    logOf(COMMON, { run: AGAIN }),
    markOf({ isExact: true }),
    /unknown whether/,
  ],
  [
    'led, with another server promoted since',
    OWN,
    logOf(OTHERS, PROMOTED),
    markOf(),
    /records 7 to 13 \(unknown whether/,
  ],
  [
    'led, and whose server was started again, on whatever it had then',
    OWN,
    logOf(COMMON, { run: AGAIN }),
    markOf(),
    /unknown whether/,
  ],
  [
    'led, and whose server was started again before the next lead',
    OWN,
    logOf(OTHERS, { leads: [LEAD, { ...NEXT, run: AGAIN }], run: AGAIN }),
    markOf(),
    /unknown whether/,
  ],
  [
    'led, with a mark and leads of an older version',
    OWN,
    logOf(OTHERS, { leads: [LEAD, { ...NEXT, run: '' }] }),
    markOf({ place: { system: '1', timeline: 1 } as FoundMark['place'] }),
    /unknown whether/,
  ],
  [
    'led, in a lead that the log does not know',
    OWN,
    logOf(COMMON, { leads: [{ ...LEAD, lead: 10 }] }),
    markOf(),
    /unknown whether/,
  ],
  ['has no mark, and more than the log', OWN, logOf(COMMON), null, /no mark of what was held.*unknown whether/],
  [
    'has seen a position that the log lost before its next lead',
    COMMON,
    logOf(OTHERS, { leads: [LEAD, { ...NEXT, start: 2 }] }),
    markOf(),
    /has seen position 3 .* the last row that this member has seen/,
  ],
  [
    'has seen a stream held of which the log has nothing',
    [],
    logOf([]),
    markOf({ last: null }),
    /shard 0, records 1 to 6/,
  ],
] as const) {
  test(`a start is refused, and the next one too, of a member that ${what}`, async () => {
    for (let start = 0; start < 2; start++) {
      await assert.rejects(stand(rows, log, mark), ({ name, message }: Error) => {
        assert.equal(name, 'LostRowsError');
        assert.match(message, reason);
        assert.match(message, /Nothing was changed/);
        return true;
      });
    }
  });
}

test('records of control.db that were held are missed as rows of a journal are', async () => {
  const directory = temporaryDirectory();
  const path = join(directory, 'control.db');
  const database = new Sqlite(path);
  database.exec(`CREATE TABLE record_end (id INTEGER PRIMARY KEY, sequence INTEGER, link BLOB);
    CREATE TABLE record_queue (sequence INTEGER PRIMARY KEY, bytes BLOB);
    CREATE TABLE record_undo (sequence INTEGER PRIMARY KEY, bytes BLOB);
    INSERT INTO record_end VALUES (0, 4, zeroblob(16))`);
  database.close();
  const records = [{ path, stream: STREAM.CONTROL, hasUndo: true }];
  const member = { directory, shards: 0, masterKey: MASTER_KEY, records };
  const log = logOf([]);
  const refused = requireStanding(member, log, log.all, markOf({ last: null, held: {} }));
  await assert.rejects(refused, /control\.db, records 1 to 4 \(held before/);
});

test('the streams are named of which the log has more than a member', async () => {
  assert.deepEqual(await lackedBy(memberWith(COMMON), logOf(OTHERS)), [0]);
  assert.deepEqual(await lackedBy(memberWith(OWN), logOf(OWN)), []);
  assert.deepEqual(await lackedBy(memberWith(OWN), logOf(COMMON)), []);
});
