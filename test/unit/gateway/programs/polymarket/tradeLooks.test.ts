/** Trades of fills are looked for in a history that follows a moment later, and has more than one page of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TradeLooks } from '../../../../../gateway/programs/polymarket/tradeLooks.ts';
import type { UserTrade, UserTrades, UserTradesQuery } from '../../../../../shared/client/types.ts';

const PAGE = 100;

/** The newest first, a millisecond apart. @param lag looks before the newest are there */
function makeHistory(count: number, { lag = 0, failures = 0 } = {}) {
  const ids = Array.from({ length: count }, (_, at) => String(count - 1 - at));
  const seen = { reads: 0, looks: 0 };
  const userTrades = async ({ cursor }: UserTradesQuery = {}): Promise<UserTrades> => {
    seen.reads++;
    if (cursor === undefined) seen.looks++;
    if (seen.reads <= failures) throw new Error('the exchange does not answer');
    const from = cursor === undefined ? 0 : Number(cursor);
    const shown = seen.looks <= lag ? [] : ids.slice(from, from + PAGE);
    const trades = shown.map((id) => ({ id, matched_at: new Date(Number(id)).toISOString() }) as UserTrade);
    const next_cursor = from + PAGE < count ? String(from + PAGE) : null;
    return { trades, next_cursor, total: count, limit: PAGE, offset: from } as UserTrades;
  };
  return { looks: new TradeLooks({ userTrades }, 1), seen };
}

test('each fill of a burst of any size gets its trade, and they are looked for together', async () => {
  const { looks, seen } = makeHistory(1000);
  const wanted = Array.from({ length: 260 }, (_, at) => 740 + at);
  const found = await Promise.all(wanted.map((id) => looks.find(String(id), id)));
  assert.deepEqual(
    found.map((trade) => trade?.id),
    wanted.map(String),
  );
  assert.ok(seen.reads <= 6, `${seen.reads} reads`);
});

test('a fill that history does not have yet is looked for again, also after a failed read', async (scope) => {
  const alive = setInterval(() => {}, 1000);
  scope.after(() => clearInterval(alive));
  const { looks } = makeHistory(5, { lag: 2, failures: 2 });
  assert.equal((await looks.find('4', 4))?.id, '4');
});

test('a trade that is nowhere gets null, and history before its time is not read', async (scope) => {
  // Its pauses keep no process.
  const alive = setInterval(() => {}, 1000);
  scope.after(() => clearInterval(alive));
  const { looks, seen } = makeHistory(1000);
  assert.equal(await looks.find('none', 990), null);
  assert.equal(seen.reads, seen.looks);
});
