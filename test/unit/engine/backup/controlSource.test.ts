/** control.db for a backup of a directory on which nothing runs: the lock is free while it is copied. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { RunningError, withDirectoryToRead } from '../../../../engine/admin/directory.ts';
import { withControl } from '../../../../engine/backup/controlSource.ts';
import type { ControlCut } from '../../../../engine/backup/make.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

type Rig = { readonly directory: string; readonly path: string; readonly copy: string };

function rig(): Rig {
  const directory = temporaryDirectory();
  const path = join(directory, 'control.db');
  openControlDatabase(path).close();
  return { directory, path, copy: join(temporaryDirectory(), 'control.db') };
}

type Steps = {
  /** Called each time when the lock was given back. */
  readonly afterLock?: () => void;
  /** Called when a server has the lock. */
  readonly whenBusy?: () => void;
  readonly work?: (cut: ControlCut) => void;
};

async function copied({ directory, copy }: Rig, { afterLock, whenBusy, work }: Steps): Promise<ControlCut> {
  let made: ControlCut | undefined;
  const withLock = async (held: (control: Database.Database | null) => void): Promise<boolean> => {
    try {
      await withDirectoryToRead(directory, held);
    } catch (error) {
      assert.ok(error instanceof RunningError);
      whenBusy?.();
      return false;
    }
    afterLock?.();
    return true;
  };
  const options = { directory, shards: [], temporary: copy, withLock, nowMs: () => 1234, print: () => {} };
  await withControl(options, async (cut) => {
    made = cut;
    work?.(cut);
  });
  return made!;
}

test('an exchange can start while what a backup has copied is written', async () => {
  const made = rig();
  const cut = await copied(made, { work: () => openControlDatabase(made.path).close() });
  assert.deepEqual(cut, { path: made.copy, cuts: [], takenMs: 1234, wasRunning: false });
});

test('a copy during which an exchange has started is not used: another one is made', async (t) => {
  const made = rig();
  let server: Database.Database | null = null;
  let tries = 0;
  const cut = await copied(made, {
    afterLock: () => {
      if (++tries > 1) return;
      server = openControlDatabase(made.path);
      server.prepare("INSERT INTO platform (key, value) VALUES ('shards', '7')").run();
    },
    whenBusy: () => server?.close(),
  });
  assert.equal(tries, 2);
  const copy = new Database(cut.path, { readonly: true });
  t.after(() => copy.close());
  assert.equal(copy.prepare("SELECT value FROM platform WHERE key = 'shards'").pluck().get(), '7');
});
