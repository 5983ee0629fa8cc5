import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WindowTask } from '../../../../gateway/markets/exchangeQueries.ts';
import { Volumes } from '../../../../gateway/markets/volumes.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 0, 1, 12);

/** Trades of one market by time; every read of a window is recorded. */
class Source {
  readonly reads: WindowTask[] = [];
  trades: { timeMs: number; micro: bigint }[] = [];

  marketVolumes(): Promise<null> {
    return Promise.resolve(null);
  }

  volumesBetween(window: WindowTask): Promise<BigInt64Array> {
    this.reads.push(window);
    const inWindow = this.trades.filter(({ timeMs }) => timeMs >= window.fromMs && timeMs < window.toMs);
    return Promise.resolve(new BigInt64Array([inWindow.reduce((sum, { micro }) => sum + micro, 0n)]));
  }
}

test('RULES.md 13.8: the volume of 24 hours covers the present hour and the 23 before it', async () => {
  const [source, clock] = [new Source(), new ManualClock(NOON + 1000)];
  const volumes = new Volumes(source, clock);
  assert.equal(volumes.volume24hMicro(0), 0n);
  source.trades = [
    { timeMs: NOON - 23 * HOUR_MS - 1, micro: 1n },
    { timeMs: NOON - 23 * HOUR_MS, micro: 10n },
    { timeMs: NOON - 1, micro: 100n },
    { timeMs: NOON, micro: 1000n },
  ];
  await volumes.refresh24h();
  assert.equal(volumes.volume24hMicro(0), 1110n);
  assert.equal(volumes.volume24hMicro(1), 0n, 'a market that the read model does not know yet');
  clock.advance(HOUR_MS);
  await volumes.refresh24h();
  assert.equal(volumes.volume24hMicro(0), 1100n);
});

test('VOLUMES-1: the closed hours are read once an hour, and a late trade of the last hour still counts', async () => {
  const [source, clock] = [new Source(), new ManualClock(NOON + 1000)];
  const volumes = new Volumes(source, clock);
  await volumes.refresh24h();
  await volumes.refresh24h();
  assert.equal(source.reads.length, 3);
  source.trades = [{ timeMs: NOON - 1, micro: 5n }];
  await volumes.refresh24h();
  assert.equal(volumes.volume24hMicro(0), 5n);
  assert.equal(source.reads.length, 4);
});
