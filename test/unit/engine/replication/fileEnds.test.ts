/** The ends of a running member's journals compared with the end of the log (RULES.md 18.25). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { FileEnds } from '../../../../engine/replication/fileEnds.ts';
import { STREAM } from '../../../../shared/wire/replication.ts';
import type { StreamEnd } from '../../../../shared/wire/threads.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

/** Two journals, and a log whose answers the test chooses. */
function rig() {
  const directory = temporaryDirectory();
  const journals = [0, 1].map((shard) => {
    const db = new Database(join(directory, `journal-${shard}.db`));
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE journal (sequence INTEGER PRIMARY KEY, bytes BLOB NOT NULL)');
    return db;
  });
  const append = (shard: number, sequence: number): void => {
    journals[shard]!.prepare('INSERT INTO journal VALUES (?, ?)').run(sequence, Buffer.alloc(1));
  };
  const state = { logged: [] as StreamEnd[], afterConfirm: null as StreamEnd[] | null, isConfirmed: true };
  const log = {
    ends: async () => state.logged,
    confirm: async () => {
      if (!state.isConfirmed) throw new Error('the database has not waited for its standbys');
      state.logged = state.afterConfirm ?? state.logged;
      return 'db';
    },
  };
  const ends = new FileEnds({ directory, shards: 2, log });
  const held = new Map<number, number>();
  const now = { isLeader: false, durable: 0 };
  const look = (): Promise<void> => {
    const { isLeader, durable } = now;
    return ends.look({ isLeader, durable: () => durable, held: (stream) => held.get(stream) ?? 0 });
  };
  return { ends, look, journals, append, state, held, now };
}

function end(stream: number, sequence: number, position: number): StreamEnd {
  return { epoch: 1, lead: 1, stream, sequence, position };
}

test('a member that lacks what is on its way has no problem, and one that lacks what it has had does', async () => {
  const { ends, look, journals, append, state, now } = rig();
  append(0, 4);
  state.logged = [end(0, 9, 3), end(1, 2, 2)];
  now.durable = 1;
  for (let looks = 0; looks < 3; looks++) await look();
  assert.equal(ends.problem, null);
  append(0, 9);
  append(1, 2);
  now.durable = 3;
  await look();
  await look();
  assert.equal(ends.problem, null);
  journals[0]!.exec('DELETE FROM journal WHERE sequence = 9');
  state.logged = [end(0, 12, 5), end(1, 2, 2)];
  for (let looks = 0; looks < 3; looks++) {
    await look();
    assert.equal(ends.problem, 'the journal of shard 0 ends with record 4, and record 9 was in it');
  }
  append(0, 12);
  now.durable = 5;
  await look();
  assert.equal(ends.problem, null);
});

test('a standby has nothing that the log has not; a leader has rows on their way there', async () => {
  const { ends, look, append, state, now } = rig();
  append(1, 7);
  state.logged = [end(1, 5, 2)];
  now.isLeader = true;
  await look();
  assert.equal(ends.problem, null);
  now.isLeader = false;
  await look();
  assert.equal(ends.problem, 'the journal of shard 1 ends with record 7, and the log with record 5');
});

test('a log that has lost what it held is seen by a leader too, of every stream', async () => {
  const { ends, look, state, held, now } = rig();
  now.isLeader = true;
  held.set(STREAM.CONTROL, 8);
  state.logged = [end(STREAM.CONTROL, 7, 20)];
  await look();
  assert.equal(ends.problem, 'the log ends with record 7 of control.db, and has held record 8');
});

test('a server that was replaced shows no problem: only one that confirms does', async () => {
  const { ends, look, state, held } = rig();
  held.set(0, 8);
  state.logged = [end(0, 7, 20)];
  state.isConfirmed = false;
  await assert.rejects(look(), /has not waited/);
  assert.equal(ends.problem, null);
  state.isConfirmed = true;
  state.afterConfirm = [end(0, 8, 21)];
  await look();
  assert.equal(ends.problem, null);
});
