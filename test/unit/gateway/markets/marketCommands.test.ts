/** Commands to markets: control.db and the market's shard agree about it, whatever the shard answers. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Changes } from '../../../../gateway/base/laterSync.ts';
import { Catalog } from '../../../../gateway/markets/catalog.ts';
import { MarketCommands, type MarketStates } from '../../../../gateway/markets/marketCommands.ts';
import { MARKET_STATUS, STAGE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { NOW_MS, newDatabase, newMarket } from '../../../support/controlRows.ts';
import { ManualClock } from '../../../support/manualClock.ts';

describe('market commands', () => {
  test('a shard opens a market only once its row survives a power cut', async (t) => {
    const database = newDatabase(t);
    const order: string[] = [];
    let synced = (): void => undefined;
    const changes: Changes = {
      isDurable: false,
      write: (change) => {
        change();
        order.push('written');
      },
      durable: () => new Promise<void>((resolve) => (synced = resolve)).then(() => void order.push('durable')),
    };
    const catalog = new Catalog(database, 1, changes);
    const openMarket = async () => {
      order.push('opened');
      return { code: OK };
    };
    const engine = { ...engineOf(OK), openMarket };
    const opened = new MarketCommands(catalog, STATES, engine, new ManualClock(NOW_MS), () => false).open(newMarket());
    await Promise.resolve();
    assert.deepEqual(order, ['written']);
    synced();
    await opened;
    assert.deepEqual(order, ['written', 'durable', 'opened']);
  });

  test('a market that its shard refuses is in no file', async (t) => {
    const { marketCommands, catalog, database } = deskWith(t, E.ENGINE_BUSY);
    const opened = await marketCommands.open(newMarket());
    assert.ok('refusal' in opened && opened.refusal.row.code === 'ENGINE_BUSY');
    assert.equal(catalog.markets.length, 0);
    assert.equal(new Catalog(database, 1).markets.length, 0);
  });

  test('a market whose outcome is unknown stays, to be opened at the next start', async (t) => {
    const { marketCommands, catalog } = deskWith(t, E.OUTCOME_UNKNOWN);
    await marketCommands.open(newMarket());
    assert.equal(catalog.markets.length, 1);
  });

  test('of two markets made at once with the same tokens one is refused', async (t) => {
    const { marketCommands, catalog } = deskWith(t, OK);
    const fields = newMarket({ tokenIds: ['7', '8'] });
    const [first, second] = await Promise.all([marketCommands.open(fields), marketCommands.open(fields)]);
    assert.ok('market' in first);
    assert.ok('refusal' in second && second.refusal.row.code === 'CONFLICT');
    assert.equal(catalog.markets.length, 1);
  });

  test('a change that the shard refuses changes no description', async (t) => {
    const { marketCommands, catalog } = deskWith(t, E.INVALID_TRANSITION);
    const market = catalog.createMarket(newMarket(), NOW_MS);
    const refusal = await marketCommands.change(market, {
      status: MARKET_STATUS.LOCKED,
      details: { title: 'Another' },
    });
    assert.equal(refusal?.row.code, 'CONFLICT');
    assert.equal(market.details.title, 'Will it rain?');
  });
});

/** A marketCommands whose shard answers every command with the same code. */
function deskWith(t: TestContext, code: number) {
  const database = newDatabase(t);
  const catalog = new Catalog(database, 1);
  const marketCommands = new MarketCommands(catalog, STATES, engineOf(code), new ManualClock(NOW_MS), () => false);
  return { database, catalog, marketCommands };
}

const STATES: MarketStates = {
  has: () => true,
  status: () => MARKET_STATUS.ACTIVE,
  stage: () => STAGE.OPEN,
  startMs: () => NOW_MS,
  endMs: () => NOW_MS + 1000,
};

function engineOf(code: number) {
  const answer = async () => ({ code });
  return { isReady: () => true, openMarket: answer, patchMarket: answer, decideMarket: answer, settleMarket: answer };
}
