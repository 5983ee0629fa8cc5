/** The waits between the moment all shards are READY and the first request (RULES.md 10.2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContractStore } from '../../../../gateway/markets/contracts.ts';
import { awaitNonceWindow, awaitReadModel, explain, requireContracts } from '../../../../gateway/wiring/readiness.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { ManualClock } from '../../../support/manualClock.ts';

test('nothing is accepted in the second in which the last process may have ended', async () => {
  /** True when the start does not wait at all. */
  const isOpen = async (nowMs: number): Promise<boolean> => {
    let isOver = false;
    const window = awaitNonceWindow(1000, new ManualClock(nowMs)).then(() => {
      isOver = true;
    });
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    const wasOpen = isOver;
    if (nowMs >= 1_000_990) await window;
    return wasOpen;
  };
  assert.equal(await isOpen(1_000_999), false);
  for (const nowMs of [1_001_000, 1_001_001, 5_000_000]) assert.equal(await isOpen(nowMs), true);
});

test('a start waits until the read model shows the recovered records, but not for a slow reader', async (t) => {
  const waited: unknown[] = [];
  const progress = new Progress(Progress.create(2));
  progress.setCommitted(0, 5);
  progress.setCommitted(1, 6);
  t.mock.method(progress, 'awaitProjected', async (...asked: unknown[]) => void waited.push(asked));
  t.mock.method(progress, 'awaitCatalog', async (...asked: unknown[]) => void waited.push(asked));
  await awaitReadModel(progress, 9);
  assert.deepEqual(waited, [
    [9, 1000],
    [0, 5, 1000],
    [1, 6, 1000],
  ]);
});

test('control.db and the journals must be for the same contracts, unless a change is under way', () => {
  const a = { chainId: 1, exchange: `0x${'aa'.repeat(20)}` };
  const b = { chainId: 1, exchange: `0x${'bb'.repeat(20)}` };
  const store = (first: typeof a, current: typeof a, pending: typeof a | null) =>
    ({ first, current, pending }) as unknown as ContractStore;
  const journal = ({ chainId, exchange }: typeof a) => ({ chainId, exchangeAddress: exchange });
  requireContracts(store(a, a, null), [null, null]);
  requireContracts(store(a, b, null), [journal(b), journal(b)]);
  requireContracts(store(a, a, b), [journal(b), null]);
  assert.throws(() => requireContracts(store(a, b, null), [journal(b), null]), /journal of shard 1 for/);
  assert.throws(() => requireContracts(store(a, a, null), [journal(b), null]), /journal of shard 0 for/);
  assert.throws(() => requireContracts(store(a, a, null), [journal({ ...a, chainId: 2 })]), /StartError|shard 0/);
  assert.throws(() => explain(new Error('x')), { name: 'StartError', message: 'x' });
});
