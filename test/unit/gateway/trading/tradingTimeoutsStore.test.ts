/** Trading timeouts in control.db (RULES.md 11.2). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Accounts } from '../../../../gateway/account/accounts.ts';
import { TradingTimeouts } from '../../../../gateway/trading/tradingTimeoutsStore.ts';
import { NOW_MS, newDatabase, newUser } from '../../../support/controlRows.ts';

describe('a trading timeout', () => {
  test('is in force after a restart, whatever ended or was cancelled before it (RULES.md 11.2)', (t) => {
    const database = newDatabase(t);
    new Accounts(database).signUp(newUser(null), NOW_MS);
    const timeouts = new TradingTimeouts(database);
    const hourMs = 3_600_000;
    timeouts.startTimeout(1, 'custom', 1, NOW_MS);
    timeouts.startTimeout(1, 'custom', 5, NOW_MS + hourMs);
    assert.ok(timeouts.cancelTimeout(1, NOW_MS + 2 * hourMs) !== null);
    const active = timeouts.startTimeout(1, '30d', 720, NOW_MS + 3 * hourMs);
    const restarted = new TradingTimeouts(database);
    assert.deepEqual(restarted.activeTimeout(1, NOW_MS + 4 * hourMs), active);
    assert.equal(restarted.activeTimeout(1, active.endsMs), null);
  });

  test('that was cancelled stays cancelled after a restart', (t) => {
    const database = newDatabase(t);
    new Accounts(database).signUp(newUser(null), NOW_MS);
    const timeouts = new TradingTimeouts(database);
    const started = timeouts.startTimeout(1, '24h', 24, NOW_MS);
    assert.deepEqual(timeouts.cancelTimeout(1, NOW_MS + 1), started);
    assert.equal(new TradingTimeouts(database).activeTimeout(1, NOW_MS + 2), null);
  });
});
