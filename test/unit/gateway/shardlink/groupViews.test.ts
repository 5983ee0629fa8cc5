/** Order groups as the views show them (RULES.md 7.9). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GroupViews } from '../../../../gateway/shardlink/groupViews.ts';
import { ANY_EVENT, EVENT } from '../../../../shared/wire/events.ts';
import { writeSafe } from '../../../../shared/wire/record.ts';

const [ACCOUNT, GROUP, WINDOW_SEC] = [1, 7, 10];
const NOW_MS = 1_800_000_000_000;

function fill(views: GroupViews, shard: number, timeMs: number, filledAtomic: number): void {
  const words = new Uint32Array(EVENT.GROUP.BYTES / 4);
  words[ANY_EVENT.account] = ACCOUNT;
  words[EVENT.GROUP.group] = GROUP;
  words[EVENT.GROUP.windowSec] = WINDOW_SEC;
  writeSafe(words, EVENT.GROUP.maxAtomic, 100);
  writeSafe(words, EVENT.GROUP.filledAtomic, filledAtomic);
  views.apply(shard, timeMs, words, 0);
}

test('what a shard filled counts until its window has passed since, and the fullest shard counts', () => {
  const views = new GroupViews();
  fill(views, 0, NOW_MS, 60);
  fill(views, 1, NOW_MS + 4000, 40);
  const filledAt = (ms: number): number | undefined => views.of(GROUP, NOW_MS + ms)?.filledAtomic;
  assert.deepEqual([0, 9999, 10_000, 13_999, 14_000].map(filledAt), [60, 60, 40, 40, 0]);
});
