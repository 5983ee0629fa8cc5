/**
 * Backups beside an exchange that trades, with kill -9 of either side at any moment: every point that a backup has
 * written is restored, replayed and audited, and an exchange that goes on from what was restored has everything that
 * was acknowledged before.
 *
 *     SOAK=on SEED=7 node shared/run.mjs --test test/fault/backup.test.ts
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as passed } from 'node:timers/promises';
import { runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { fileScope } from '../support/fileScope.ts';
import { seededRandom } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { ROOT, startServer } from '../support/server.ts';
import { Witness } from '../support/witness.ts';

const ROUNDS = timesOf({ suite: 3, soak: 50 });
const SEED = seedOr(20_261_128);
const COMMANDS = 200;
/** A backup takes about this long, so the kill can hit any part of it. */
const BACKUP_MS = 1200;
/** Snapshots and trimming run too. */
const ENVIRONMENT = { SNAPSHOT_EVERY: '250', JOURNAL_KEEP: '100' };

const server = await startServer(fileScope, ENVIRONMENT);
const random = seededRandom(SEED);
const folder = temporaryDirectory();
const target = join(folder, 'backups');
const restored = join(folder, 'restored');
const checked = new Set<string>();
const backups = new Set<ChildProcess>();
fileScope.after(() => {
  for (const backup of backups) backup.kill('SIGKILL');
});

test(`every backup of ${ROUNDS} rounds of kills can be gone on from (SEED=${SEED})`, async () => {
  const witness = await Witness.create(server, SEED);
  for (let round = 0; round < ROUNDS; round++) {
    const isServerKilled = random() < 0.5;
    const killAfter = 20 + Math.floor(random() * (COMMANDS - 60));
    let killing: Promise<void> | undefined;
    const isOver = new AbortController();
    const backingUp = keepBackingUp(isOver.signal);
    const onAnswer = (answered: number): void => {
      if (isServerKilled && answered === killAfter) killing = server.kill();
    };
    await witness.trade({ commands: COMMANDS, onAnswer });
    if (isServerKilled) {
      await killing;
      await server.start(ENVIRONMENT);
    }
    isOver.abort();
    await backingUp;
    await witness.check();
    await restoreAll();
    await goOnFromBackup();
    await witness.check();
  }
  assert.ok(checked.size >= ROUNDS, `${checked.size} points were checked`);
});

/** Makes one backup after the other, of which some are killed. */
async function keepBackingUp(isOver: AbortSignal): Promise<void> {
  while (!isOver.aborted) {
    const backup = startBackup();
    const ended = once(backup, 'exit');
    if (random() < 0.5) {
      await Promise.race([passed(random() * BACKUP_MS), ended]);
      backup.kill('SIGKILL');
      await ended;
    } else {
      const [code] = await ended;
      assert.equal(code, 0, 'a backup that nobody kills is made, whatever becomes of the exchange');
    }
  }
}

function startBackup(): ChildProcess {
  const program = ['--import', './shared/base/keptSources.mjs', 'engine/admin/main.ts'];
  const args = ['backup', target, '--data', server.dataDir, '--rate', '0'];
  const backup = spawn(process.execPath, [...program, ...args], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  backups.add(backup);
  backup.once('exit', () => backups.delete(backup));
  return backup;
}

/** Every point that is new is sound and balanced. */
async function restoreAll(): Promise<void> {
  const { stdout } = await admin(['backups', 'list', target]);
  for (const [, point] of stdout.matchAll(/^(\d{8}T\S+)/gm)) {
    if (checked.has(point!)) continue;
    const place = join(folder, 'point');
    const { status, stdout: text, stderr } = await admin(['restore', target, '--point', point!, '--data', place]);
    assert.equal(status, 0, text + stderr);
    assert.match(text, /^balanced$/m);
    rmSync(place, { recursive: true });
    checked.add(point!);
  }
}

/** A backup of now takes the place of the directory, and the exchange starts with it. */
async function goOnFromBackup(): Promise<void> {
  const made = await admin(['backup', target, '--data', server.dataDir, '--rate', '0']);
  assert.equal(made.status, 0, made.stderr);
  await server.kill();
  const back = await admin(['restore', target, '--data', restored, '--as-it-was']);
  assert.equal(back.status, 0, back.stdout + back.stderr);
  renameSync(server.dataDir, join(folder, `left-${Date.now()}`));
  renameSync(restored, server.dataDir);
  await server.start(ENVIRONMENT);
}

function admin(args: readonly string[]) {
  return runAdminHere(args, {});
}
