/**
 * A projector that ends at any moment leaves a read.db from which the next one gets the same rows as one that was never
 * disturbed (PROJECTOR-1): between two transactions and inside one, with its process, with the machine, which loses
 * unsynced data, and on a full disk.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { differences } from '../../../../engine/projector/contents.ts';
import { STRIPPED_BEFORE } from '../../../../shared/base/stripTypes.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';
import { SmallDisk } from '../../../support/smallDisk.ts';

const SEED = seedOr(5);
const SHARDS = 2;
const PROCESS = fileURLToPath(new URL('../../../support/projectorProcess.ts', import.meta.url));
const folder = temporaryDirectory();

// A projector follows whole rows, and any record may be the last one that it knows.
const rig = new ProjectionRig({ shards: SHARDS, batch: 1 });
rig.trade(110);
rig.decide(400_000);
rig.trade(30);
after(() => rig.close());
const undisturbed = rig.undisturbed();
const lasts = rig.journals.map(({ lastSequence }) => lastSequence);
let files = 0;

type Runs = { run: (...values: unknown[]) => unknown };

/** In a folder of its own, as the archive lies beside it. */
function newPath(): string {
  const directory = join(folder, String(++files));
  mkdirSync(directory);
  return join(directory, 'read.db');
}

/** A projector of its own, up to a record of each shard. */
function start(readDbPath: string, committed = Number.MAX_SAFE_INTEGER) {
  const memory = Progress.create(SHARDS);
  const progress = new Progress(memory);
  const commit = (sequence: number): void => {
    for (const [shard, last] of lasts.entries()) progress.setCommitted(shard, Math.min(sequence, last));
  };
  commit(committed);
  return { projector: rig.projector({ readDbPath, progress: memory }), commit };
}

function follow(readDbPath: string): void {
  const { projector } = start(readDbPath);
  while (projector.step(true));
  projector.close();
}

function assertSame(readDbPath: string, what: string): void {
  assert.deepEqual(differences(undisturbed, rig.contents(readDbPath)), [], what);
}

describe(`a projector that ends (seed ${SEED})`, () => {
  it('with the machine, which loses what it had not synced: the write-ahead log is cut anywhere', () => {
    const random = seededRandom(SEED);
    const live = newPath();
    const { projector, commit } = start(live, 0);
    const images: { path: string; what: string }[] = [];
    for (let record = 0; record <= Math.max(...lasts); record += 4) {
      commit(record);
      while (projector.step(true));
      if (random() < 0.15) checkpoint(live);
      if (random() > 0.5) continue;
      const path = newPath();
      for (const suffix of ['', '-wal']) copyFileSync(live + suffix, path + suffix);
      const { size } = statSync(`${path}-wal`);
      const cut = Math.floor(random() * size);
      // After a checkpoint the file has everything that the log has up to then, so any part of the log may be missing.
      truncateSync(`${path}-wal`, cut);
      images.push({ path, what: `record ${record}, ${cut} of ${size} bytes of the log` });
    }
    projector.close();
    assert.ok(images.length >= 5, `${images.length} images`);
    for (const { path, what } of images) {
      follow(path);
      assertSame(path, what);
    }
  });

  it('inside a transaction, at any of its statements', () => {
    const random = seededRandom(SEED);
    const path = newPath();
    const statement = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1')) as Runs;
    const { run } = statement;
    let failures = 0;
    for (let attempt = 0; attempt < 12; attempt++) {
      const { projector } = start(path, 12 * (attempt + 1));
      let left = Math.floor(random() * 60);
      statement.run = function (this: unknown, ...values: unknown[]) {
        if (left-- === 0) throw new Error('interrupted');
        return run.apply(this, values);
      };
      try {
        while (projector.step(true));
      } catch (error) {
        assert.match(String(error), /interrupted/);
        failures++;
      } finally {
        statement.run = run;
        projector.close();
      }
    }
    assert.ok(failures >= 3, `${failures} failures`);
    follow(path);
    assertSame(path, `${failures} interruptions`);
  });

  it('with its process, killed at any moment', async () => {
    const random = seededRandom(SEED);
    const path = newPath();
    const journals = rig.journalPaths.map((journal, shard) => `${journal}=${lasts[shard]}`);
    for (let kills = 0; kills < 3; kills++) {
      const child = spawn(process.execPath, [...STRIPPED_BEFORE, PROCESS, path, ...journals]);
      const errors: Buffer[] = [];
      child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
      let steps = 1 + Math.floor(random() * 15);
      child.stdout.on('data', (chunk: Buffer) => {
        steps -= chunk.length;
        if (steps <= 0) child.kill('SIGKILL');
      });
      await once(child, 'close');
      assert.equal(Buffer.concat(errors).toString(), '');
    }
    assert.ok(existsSync(path));
    follow(path);
    assertSame(path, 'three kills');
  });

  it('on a full disk, and goes on once there is room', (t) => {
    const disk = SmallDisk.mount({ after: (cleanUp) => t.after(cleanUp) }, 4);
    if (disk === null) return t.skip('needs the rights to mount a file system');
    const path = join(disk.path, 'read.db');
    const first = start(path, 20);
    while (first.projector.step(true));
    disk.fill();
    first.commit(Number.MAX_SAFE_INTEGER);
    assert.throws(() => {
      while (first.projector.step(true));
    }, /disk is full/);
    first.projector.close();
    disk.clear();
    follow(path);
    assertSame(path, 'a full disk');
  });
});

function checkpoint(path: string): void {
  const db = new Database(path);
  db.pragma('wal_checkpoint(PASSIVE)');
  db.close();
}
