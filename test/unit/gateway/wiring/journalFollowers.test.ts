/** The threads that follow the journals, with a read.db that contradicts them (RULES.md 10.21). */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { differences } from '../../../../engine/projector/contents.ts';
import { threadEnds } from '../../../../gateway/base/threadEnds.ts';
import { JournalFollowers } from '../../../../gateway/wiring/journalFollowers.ts';
import { eventually } from '../../../support/eventually.ts';
import { TEST_SECRET } from '../../../support/journalKey.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';

test('a read.db with a value that contradicts the next record is set aside and made again', async () => {
  const rig = new ProjectionRig();
  after(() => rig.close());
  rig.trade(40);
  rig.project();
  const db = new Database(rig.readDbPath);
  const { changes } = db.prepare('UPDATE orders SET remaining_lots = remaining_lots - 1 WHERE slot IS NOT NULL').run();
  db.close();
  assert.ok(changes > 0, 'orders are open');
  for (const account of [1, 2, 3, 4]) rig.rigs[0]!.cancelMany(account);
  rig.write();
  const lines: string[] = [];
  const note = (_details: unknown, line?: string): void => void lines.push(line ?? String(_details));
  const followers = new JournalFollowers({
    journalPaths: rig.journalPaths,
    journalKey: TEST_SECRET,
    readDbPath: rig.readDbPath,
    progress: rig.progressMemory,
    directory: rig.directory,
    everyRecords: 1_000_000,
    keepRecords: 1_000_000,
    catalogFeed: { connect: () => new MessageChannel().port2 },
    log: { error: note, warn: note, info: note },
  } as never);
  after(() => followers.stop(0));
  const last = rig.journals[0]!.lastSequence;
  await eventually('a read model that has every record', async () => rig.progress.projected(0) === last);
  assert.deepEqual(differences(rig.undisturbed(), rig.contents()), []);
  assert.ok(existsSync(`${rig.readDbPath}.damaged`));
  const ended = lines.filter((line) => line === 'the projector thread ended; it is started again');
  assert.equal(ended.length, 1, 'the same cause is said once a minute');
  assert.equal(threadEnds.counts.get('projector'), 3);
  assert.ok(lines.includes('read.db contradicts the journals: it is set aside and made again'));
});
