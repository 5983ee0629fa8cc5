/** The thread of a shard whose rows go into a replicated log as well (LOOP-1, LOOP-10, SHARDFOLLOWER-1 to 3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { NEWEST_RULES } from '../../../../engine/core/rules.ts';
import type { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { JournalHead, type Row } from '../../../../engine/journal/row.ts';
import { RowReader } from '../../../../engine/journal/rowReader.ts';
import { RowWriter } from '../../../../engine/journal/rowWriter.ts';
import { Unheld } from '../../../../engine/shard/unheld.ts';
import { OK } from '../../../../shared/base/errors.ts';
import { decodeCommand } from '../../../../shared/wire/commands.ts';
import type { Event } from '../../../../shared/wire/events.ts';
import { ClusterShard, DEPOSIT_MICRO } from '../../../support/clusterShard.ts';
import { eventually } from '../../../support/eventually.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

/** The most batches that may wait for the log. */
const MOST_BATCHES = 64;

/** The row, as a member with other rules would have written it. */
function otherEvents(row: Row): Row {
  const reader = new RowReader('of the test', TEST_KEY);
  const writer = new RowWriter(TEST_KEY);
  reader.load(row, new JournalHead(0, 0, 0));
  reader.show((record) => {
    const { events, ...other } = record.copy();
    events.words[events.end - 1]! ^= 1;
    writer.add({ ...other, events } as JournalRecord);
  });
  return { sequence: row.sequence, bytes: writer.finish(new JournalHead(0, 0, 0)) };
}

function rowsOf(journalPath: string): Row[] {
  const db = new Database(journalPath, { readonly: true });
  try {
    return db.prepare<[], Row>('SELECT sequence, bytes FROM journal ORDER BY sequence').all();
  } finally {
    db.close();
  }
}

function commandsOf(rows: readonly Row[]): string[] {
  const [reader, names] = [new RowReader('of the test', TEST_KEY), [] as string[]];
  const head = new JournalHead(0, 0, 0);
  for (const row of rows) {
    reader.load(row, head);
    reader.show(({ sequence, command: { words, word } }) => {
      names.push(`${sequence} ${decodeCommand(words, word).name}`);
    });
  }
  return names;
}

test('nothing leaves a shard before the log holds it, and held output leaves without a command', async () => {
  const shard = new ClusterShard('lead');
  await shard.ready();
  shard.deposit(1);
  await shard.rowsOut(1);
  shard.deposit(2);
  // The second row is written once the turn of the first is over: were that published, its events would be there.
  await shard.rowsOut(2);
  assert.deepEqual(shard.published(), { records: [], replies: [] });
  assert.equal(shard.progress.committed(0), 0, 'no reader of the journal follows what is not held');
  shard.hold(1);
  await shard.event('the reply', ({ name }) => name === 'REPLY');
  assert.deepEqual(shard.published(), { records: [1], replies: [1] });
  assert.equal(shard.progress.committed(0), 1);
  shard.hold(2);
  await shard.event('the second reply', (event) => event.name === 'REPLY' && event.requestId === 2);
  // A refusal changes nothing, so the log need not take anything for it.
  shard.deposit(2);
  await shard.event('the reply to a repeated deposit', () => shard.published().replies.length === 3);
  await shard.stop();
  assert.deepEqual(
    rowsOf(shard.journalPath).map(({ sequence, bytes }) => ({ sequence, bytes: new Uint8Array(bytes) })),
    shard.rows.map(({ sequence, bytes }) => ({ sequence, bytes })),
    'the log gets the rows of the file, byte for byte',
  );
});

test('a refusal waits for the batch that has decided it', async () => {
  const shard = new ClusterShard('lead');
  await shard.ready();
  shard.deposit(1);
  await shard.rowsOut(1);
  shard.deposit(1);
  shard.deposit(2);
  await shard.rowsOut(2);
  assert.deepEqual(shard.published(), { records: [], replies: [] });
  shard.hold(2);
  await shard.event('the last reply', (event) => event.name === 'REPLY' && event.requestId === 2);
  assert.deepEqual(shard.published(), { records: [1, 2], replies: [1, 1, 2] });
  await shard.stop();
});

test('a shard goes on when its log does; records not held at a stop were not acknowledged', async () => {
  const shard = new ClusterShard('lead');
  await shard.ready();
  for (let reference = 1; reference <= MOST_BATCHES; reference++) {
    shard.deposit(reference);
    await shard.rowsOut(reference);
  }
  shard.deposit(MOST_BATCHES + 1);
  shard.hold(10);
  await shard.rowsOut(MOST_BATCHES + 1);
  await shard.event('what is held', () => shard.published().replies.length >= 10);
  shard.replication.setState('lost');
  await shard.stop();
  assert.equal(rowsOf(shard.journalPath).at(-1)!.sequence, MOST_BATCHES + 1, 'what has run is in the file');
  assert.equal(shard.published().replies.at(-1), 10);
});

test('RULES-1: a lead with the newest format begins with its rules, and a standby takes them', async () => {
  const leader = new ClusterShard('lead', NEWEST_RULES);
  const standby = new ClusterShard('follow', NEWEST_RULES);
  await Promise.all([leader.ready(), standby.ready()]);
  leader.deposit(1);
  await leader.rowsOut(1);
  leader.hold(2);
  await leader.event('the reply', (event) => event.name === 'REPLY' && event.requestId === 1);
  await leader.stop();
  standby.post({ rows: leader.rows });
  standby.post('restore');
  await eventually('the restoring', async () => standby.messages.some((message) => 'restored' in message));
  standby.hold(2);
  standby.post('lead');
  standby.deposit(2);
  await standby.rowsOut(1);
  assert.equal(standby.rows[0]!.sequence, 3, 'the rules are in force, and no second record brings them');
  standby.hold(3);
  await standby.stop();
  assert.deepEqual(commandsOf(rowsOf(standby.journalPath)), ['1 RULES', '2 FUNDS', '3 FUNDS']);
});

test('a shard that follows has the same journal and events, and goes on as the leader', async () => {
  const leader = new ClusterShard('lead');
  const standby = new ClusterShard('follow');
  await Promise.all([leader.ready(), standby.ready()]);
  for (let reference = 1; reference <= 5; reference++) {
    leader.deposit(reference);
    await leader.rowsOut(reference);
    leader.hold(reference);
  }
  await leader.event('the last reply', (event) => event.name === 'REPLY' && event.requestId === 5);
  await leader.stop();
  standby.post({ rows: leader.rows.slice(0, 2) });
  // The log may give rows again that were applied before.
  standby.post({ rows: leader.rows });
  standby.post('restore');
  await eventually('the restoring', async () => standby.messages.some((message) => 'restored' in message));
  assert.deepEqual(standby.messages.at(-1), { restored: 5 });
  assert.equal(standby.progress.committed(0), 5);
  // Batches end where they end on each.
  const isNoEnd = ({ name }: Event): boolean => name !== 'READY' && name !== 'PUBLISHED';
  const withoutReplies = leader.listen().events.filter((event) => isNoEnd(event) && event.name !== 'REPLY');
  const followed = standby.listen().events.filter(isNoEnd);
  assert.deepEqual([leader, standby].map(publishedThrough), [5, 5]);
  assert.deepEqual(followed.slice(1), withoutReplies.slice(1));
  assert.deepEqual(rowsOf(standby.journalPath), rowsOf(leader.journalPath));

  standby.hold(5);
  standby.post('lead');
  standby.deposit(6);
  await standby.rowsOut(1);
  assert.equal(standby.rows[0]!.sequence, 6, 'the log gets the rows from its end on');
  assert.deepEqual(standby.published().replies, []);
  standby.hold(6);
  await standby.event('the reply', (event) => event.name === 'REPLY' && event.requestId === 6);
  standby.withdraw(7, 6 * DEPOSIT_MICRO + 1);
  await standby.event('a refusal', (event) => event.name === 'REPLY' && event.requestId === 7 && event.code !== OK);
  standby.withdraw(8, 6 * DEPOSIT_MICRO);
  await standby.rowsOut(2);
  standby.hold(7);
  await standby.event('the funds', (event) => event.name === 'REPLY' && event.requestId === 8 && event.code === OK);
  await standby.stop();
});

test('a front gets the state of a leader once the log holds it, and no reply to the commands of others', async () => {
  const shard = new ClusterShard('lead');
  await shard.ready();
  shard.deposit(1);
  await shard.rowsOut(1);
  const ring = shard.attach(1);
  // A row after the request: by then the shard has read it, and holds back everything that it has not sent.
  shard.deposit(2);
  await shard.rowsOut(2);
  shard.deposit(3);
  await shard.rowsOut(3);
  shard.hold(3);
  await shard.event('the last reply', (event) => event.name === 'REPLY' && event.requestId === 3);
  const events = await eventually('the state', async () => shard.sentTo(1, ring) ?? undefined);
  const ready = events.find(({ name }) => name === 'READY');
  assert.ok(ready?.name === 'READY');
  const after = events.slice(events.indexOf(ready) + 1);
  assert.deepEqual(
    after.flatMap((event) => (event.name === 'RECORD' ? [event.shardSequence] : [])),
    [1, 2, 3].filter((sequence) => sequence > ready.shardSequence),
    'the records after the state, each once',
  );
  assert.equal(after.filter(({ name }) => name === 'REPLY').length, 0);
  await shard.stop();
});

test('nothing of a state is shown while the log does not hold what made it', async () => {
  const shard = new ClusterShard('lead');
  await shard.ready();
  shard.deposit(1);
  await shard.rowsOut(1);
  const ring = shard.attach(1);
  // A stop is read after the request, and waits for the log; the log is lost instead.
  shard.replication.setState('lost');
  await shard.stop();
  assert.equal(shard.sentTo(1, ring), null);
});

test('a front of a standby gets its state and its rows, and stays when the standby leads', async () => {
  const leader = new ClusterShard('lead');
  const standby = new ClusterShard('follow');
  await Promise.all([leader.ready(), standby.ready()]);
  for (let reference = 1; reference <= 4; reference++) {
    leader.deposit(reference);
    await leader.rowsOut(reference);
    leader.hold(reference);
  }
  await leader.event('the last reply', (event) => event.name === 'REPLY' && event.requestId === 4);
  await leader.stop();
  standby.post({ rows: leader.rows.slice(0, 2) });
  const [staying, leaving] = [standby.attach(1), standby.attach(2)];
  standby.post({ detach: 2 });
  standby.post({ rows: leader.rows.slice(2) });
  standby.post('restore');
  await eventually('the restoring', async () => standby.messages.some((message) => 'restored' in message));
  standby.hold(4);
  standby.post('lead');
  const late = standby.attach(3);
  standby.deposit(5);
  await standby.rowsOut(1);
  standby.hold(5);
  await standby.event('the reply', (event) => event.name === 'REPLY' && event.requestId === 5);
  const recordsOf = (events: readonly Event[] | null) => {
    return events?.flatMap((event) =>
      event.name === 'READY' || event.name === 'RECORD' ? [`${event.name} ${event.shardSequence}`] : [],
    );
  };
  assert.deepEqual(recordsOf(standby.sentTo(1, staying)), ['READY 2', 'RECORD 3', 'RECORD 4', 'RECORD 5']);
  assert.deepEqual(recordsOf(standby.sentTo(2, leaving)), ['READY 2'], 'one that has gone gets nothing more');
  const ofLate = recordsOf(await eventually('the late one', async () => standby.sentTo(3, late) ?? undefined));
  assert.ok(['READY 4 RECORD 5', 'READY 5'].includes(ofLate!.join(' ')), String(ofLate));
  await standby.stop();
});

test('a shard that lacks rows of the log does not lead', async () => {
  const shard = new ClusterShard('follow');
  await shard.ready();
  shard.post('restore');
  shard.hold(1);
  shard.post('lead');
  assert.match(String(await shard.failureBeforeStop()), /REPLICATEDJOURNAL-2: a shard leads from where the log ends/);
});

test('a shard that is asked to lead before it has restored ends', async () => {
  const shard = new ClusterShard('follow');
  await shard.ready();
  shard.post('lead');
  assert.match(String(await shard.failureBeforeStop()), /SHARDFOLLOWER-3/);
});

test('as many batches wait for the log as may, and are released in order (UNHELD-1)', () => {
  const unheld = new Unheld(new JournalHead(0, 0, 0), 0);
  for (let batch = 1; batch <= MOST_BATCHES; batch++) {
    assert.ok(!unheld.isFull, `there is room for batch ${batch}`);
    unheld.push(new JournalHead(batch * 10, batch, 0), batch * 2, batch * 100);
  }
  assert.ok(unheld.isFull);
  assert.ok(!unheld.isDue(9) && unheld.isDue(10));
  assert.equal(unheld.release(39), 6, 'the credits of the first three');
  assert.deepEqual([unheld.heldHead.sequence, unheld.heldEnd, unheld.isFull], [30, 300, false]);
});

test('a shard ends on a row that does not follow, is damaged, or does other things here', async () => {
  const leader = new ClusterShard('lead');
  await leader.ready();
  for (let reference = 1; reference <= 3; reference++) {
    leader.deposit(reference);
    await leader.rowsOut(reference);
  }
  leader.hold(3);
  await leader.stop();
  const damaged = leader.rows[0]!.bytes.slice();
  damaged[damaged.length - 9]! ^= 1;
  for (const [rows, reason] of [
    [[otherEvents(leader.rows[0]!)], /record 1: the replay gives other events than the journal holds/],
    [leader.rows.slice(1), /of shard 0 in the replicated log: sequence 1: missing/],
    [[{ sequence: 1, bytes: damaged }], /of shard 0 in the replicated log: sequence 1: checksum mismatch/],
  ] as const) {
    const standby = new ClusterShard('follow');
    await standby.ready();
    standby.post({ rows });
    assert.match(String(await standby.failureBeforeStop()), reason);
    assert.deepEqual(rowsOf(standby.journalPath), [], 'nothing of it is journaled');
  }
});

/** The last record up to which every event was published. */
function publishedThrough({ events }: { readonly events: readonly Event[] }): number | undefined {
  return events.findLast((event) => event.name === 'PUBLISHED')?.shardSequence;
}
