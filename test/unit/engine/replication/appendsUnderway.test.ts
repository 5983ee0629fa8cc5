/** The appends that a leader has underway (shipper.ts): how rows share them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shipper } from '../../../../engine/replication/shipper.ts';
import { THREAD_TIMING } from '../../../../engine/replication/timing.ts';
import type { NewRow } from '../../../../shared/wire/replication.ts';

const LONG_BYTES = 100_000;

/** A log whose appends end when the test says so. */
function pausedLog() {
  const appends: { readonly sequences: readonly number[]; readonly end: () => void }[] = [];
  const held: number[] = [];
  const shipper = new Shipper({
    log: {
      append: (_epoch, _after, rows) =>
        new Promise((resolve) => {
          appends.push({ sequences: rows.map(({ sequence }) => sequence), end: () => resolve(true) });
        }),
      resolve: () => Promise.reject(new Error('nothing is in doubt')),
    },
    timing: THREAD_TIMING,
    epoch: 1,
    end: 0,
    onHeld: (rows) => held.push(...rows.map(({ sequence }) => sequence)),
    onLost: assert.fail,
    onProblem: (problem) => assert.equal(problem, null),
  });
  let sequence = 0;
  const add = (...lengthsBytes: readonly number[]): Promise<void> => {
    const rows: NewRow[] = lengthsBytes.map((length) => ({
      stream: 0,
      sequence: ++sequence,
      bytes: new Uint8Array(length),
    }));
    shipper.add(rows);
    return turn();
  };
  return { appends, held, add };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test('rows that are added together are one append, at once', () => {
  const { appends, add } = pausedLog();
  void add(100, 100, 100);
  assert.deepEqual(
    appends.map(({ sequences }) => sequences),
    [[1, 2, 3]],
  );
});

test('rows that come while an append is underway share the next one', async () => {
  const { appends, held, add } = pausedLog();
  for (let row = 0; row < 4; row++) await add(100);
  assert.deepEqual(
    appends.map(({ sequences }) => sequences),
    [[1]],
  );
  appends[0]!.end();
  await turn();
  assert.deepEqual(held, [1]);
  assert.deepEqual(appends[1]?.sequences, [2, 3, 4]);
});

test('a long append does not wait for the one before, and a third one does', async () => {
  const { appends, held, add } = pausedLog();
  for (let row = 0; row < 3; row++) await add(LONG_BYTES);
  assert.deepEqual(
    appends.map(({ sequences }) => sequences),
    [[1], [2]],
  );
  for (const { end } of appends) end();
  await turn();
  assert.deepEqual(held, [1, 2]);
  assert.deepEqual(appends[2]?.sequences, [3]);
});
