/**
 * Copies of control.db for a backup, over the socket in the data directory: one at a time, and gone with its
 * connection.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLogger } from '../../../../gateway/base/log.ts';
import { ControlCopies } from '../../../../gateway/operator/controlCopies.ts';
import {
  CONTROL_COPY_FOLDER,
  CONTROL_COPY_SOCKET,
  type ControlCopyNews,
  withSocketPath,
} from '../../../../shared/wire/controlCopy.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';

type Rig = { readonly directory: string; readonly copies: ControlCopies; finish: () => void };

/** @param ends what each look at the journals finds. */
function rig(t: TestContext, ends: readonly (readonly number[])[], directory = temporaryDirectory()): Rig {
  let looks = 0;
  const made: { finish: () => void } = { finish: () => {} };
  const copies = new ControlCopies({
    directory,
    copyTo: (path) =>
      new Promise((resolve) => {
        made.finish = () => {
          writeFileSync(path, 'control');
          resolve();
        };
      }),
    ends: () => ends[Math.min(looks++, ends.length - 1)]!,
    clock: { nowMs: () => 1234 },
    log: createLogger('silent'),
  });
  copies.start();
  t.after(() => copies.stop());
  return { directory, copies, finish: () => made.finish() };
}

async function ask(directory: string): Promise<{ socket: Socket; news: Promise<ControlCopyNews> }> {
  const path = join(directory, CONTROL_COPY_SOCKET);
  await eventually(`a socket at ${path}`, async () => existsSync(path));
  const socket = withSocketPath(directory, (name) => connect(name));
  const news = new Promise<ControlCopyNews>((resolve) => {
    socket.once('data', (data) => resolve(JSON.parse(data.toString())));
  });
  socket.on('error', () => {});
  return { socket, news };
}

test('the cut is where all shards were at once when the copy was complete', async (t) => {
  const { directory, finish } = rig(t, [
    [1, 1],
    [1, 2],
    [2, 2],
    [2, 2],
    [9, 9],
  ]);
  const { socket, news } = await ask(directory);
  const folder = join(directory, CONTROL_COPY_FOLDER);
  await eventually('the copy begins', async () => existsSync(folder));
  finish();
  assert.deepEqual(await news, { copied: join(CONTROL_COPY_FOLDER, 'control.db'), cuts: [2, 2], takenMs: 1234 });
  assert.equal(readFileSync(join(folder, 'control.db'), 'utf8'), 'control');
  socket.destroy();
  await eventually('the copy is deleted', async () => !existsSync(folder));
});

test('a second request is refused until the first one ends, even if that breaks off', async (t) => {
  const { directory, finish } = rig(t, [[1]]);
  const first = await ask(directory);
  await eventually('the copy begins', async () => existsSync(join(directory, CONTROL_COPY_FOLDER)));
  const second = await ask(directory);
  assert.deepEqual(await second.news, { busy: true });
  first.socket.destroy();
  finish();
  await eventually('the copy is deleted', async () => !existsSync(join(directory, CONTROL_COPY_FOLDER)));
  const third = await ask(directory);
  await eventually('the copy begins', async () => existsSync(join(directory, CONTROL_COPY_FOLDER)));
  finish();
  assert.ok('copied' in (await third.news));
  third.socket.destroy();
});

test('a start clears what a killed process has left, however long the name of the directory is', async (t) => {
  const directory = join(temporaryDirectory(), 'x'.repeat(120));
  mkdirSync(join(directory, CONTROL_COPY_FOLDER), { recursive: true });
  writeFileSync(join(directory, CONTROL_COPY_SOCKET), '');
  const { finish } = rig(t, [[1]], directory);
  assert.equal(existsSync(join(directory, CONTROL_COPY_FOLDER)), false);
  const { socket, news } = await ask(directory);
  await eventually('the copy begins', async () => existsSync(join(directory, CONTROL_COPY_FOLDER)));
  finish();
  assert.ok('copied' in (await news));
  socket.destroy();
});
