/** Imports over a real catalogue in a real control.db, with a shard that answers as the test says. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { ConfigError } from '../../../../gateway/base/config.ts';
import { type ControlDatabase, openControlDatabase } from '../../../../gateway/base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../../../../gateway/base/laterSync.ts';
import { BOOTSTRAP } from '../../../../gateway/base/principal.ts';
import { Catalog, type MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { exportedLines } from '../../../../gateway/markets/catalogueExport.ts';
import { CatalogueImport } from '../../../../gateway/markets/catalogueImport.ts';
import { EventSetCommands } from '../../../../gateway/markets/eventSetCommands.ts';
import { MarketCommands } from '../../../../gateway/markets/marketCommands.ts';
import { chainTokens, LEDGER_TOKENS, requireTokens, toIdBytes } from '../../../../gateway/markets/marketTokensStore.ts';
import type { ImportReport } from '../../../../shared/api/catalogue.ts';
import type { Optional } from '../../../../shared/api/schema.ts';
import { type MarketStatus, STAGE } from '../../../../shared/base/codes.ts';
import { E, OK } from '../../../../shared/base/errors.ts';
import { outcomeTokenIds } from '../../../../shared/chain/outcomeTokens.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { Random } from '../../../support/random.ts';

const NOW_MS = 1_790_000_000_000;
const FAR = '2099-01-01T00:00:00.000Z';

type Terms = { status: MarketStatus; feeBps: number; startMs: number; endMs: number };

/** Nobody has an order, tokens or a trade. */
const UNRELIED = {
  ofMarket: () => null,
  ofEvent: () => null,
  noteAlone: () => assert.fail('nobody relies on anything'),
};

/** An exchange of one shard without an engine: the shard keeps the terms of the markets that it has opened. */
class Rig {
  readonly catalog: Catalog;
  readonly shard = new Map<number, Terms>();
  /** The shard's answers to the next openings; OK once they are used up. */
  codes: number[] = [];
  opened = 0;
  checkpoints = 0;
  /** The answer to a command for a set that there is not. */
  codeOfSets: number = E.MARKET_NOT_FOUND;
  isReady = true;
  readonly states = {
    has: (market: number) => this.shard.has(market),
    status: (market: number) => this.shard.get(market)!.status,
    stage: () => STAGE.OPEN,
    feeBps: (market: number) => this.shard.get(market)!.feeBps,
    startMs: (market: number) => this.shard.get(market)!.startMs,
    endMs: (market: number) => this.shard.get(market)!.endMs,
  };
  readonly #import: CatalogueImport;

  constructor(database: ControlDatabase, changes: Changes = SYNCED_AT_ONCE, tokens = LEDGER_TOKENS) {
    this.catalog = new Catalog(database, 1, changes, tokens);
    const clock = new ManualClock(NOW_MS);
    const engine = {
      isReady: () => this.isReady,
      openMarket: async (market: MarketEntry) => {
        this.opened++;
        const code = this.codes.shift() ?? OK;
        if (code === OK) this.shard.set(market.index, { ...market.opening });
        return { code };
      },
      patchMarket: async (market: number, _shard: number, terms: Optional<Terms>) => {
        const given = Object.entries(terms).filter(([, value]) => value !== undefined);
        Object.assign(this.shard.get(market)!, Object.fromEntries(given));
        return { code: OK };
      },
      decideMarket: async () => ({ code: OK }),
      settleMarket: async () => ({ code: OK }),
    };
    const marketCommands = new MarketCommands(this.catalog, this.states, engine, clock, () => false);
    const setClient = { settle: async () => ({ code: this.codeOfSets }) } as never;
    const eventSets = new EventSetCommands(this.catalog, setClient, marketCommands, clock);
    const { catalog, states } = this;
    const checkpoint = () => void this.checkpoints++;
    this.#import = new CatalogueImport({
      ...{ catalog, states, marketCommands, eventSets, checkpoint, clock, terms: UNRELIED },
      fourEyes: { hasSecond: () => assert.fail('nobody relies on anything') },
      defaultFeeBps: 50,
    });
  }

  run(lines: readonly object[]): Promise<ImportReport> {
    return this.#import.run(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')), BOOTSTRAP);
  }

  exported(): string {
    return [...exportedLines(this.catalog, this.states as never)].join('');
  }
}

function openDatabase(t: TestContext): ControlDatabase {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  return database;
}

function market(key: number, more: object = {}): object {
  const least = { title: `Market ${key}`, description: '', category: 'Weather', trading_ends_at: FAR };
  return { market: { external_source: 'feed', external_event_id: `K-${key}`, ...least, ...more } };
}

function results({ lines }: ImportReport): string[] {
  return lines.map(({ result, code }) => code ?? result);
}

describe('an import (RULES.md 9.40 to 9.42)', () => {
  test('of random files, whole, cut off or repeated, ends in the catalogue of their last lines', async (t) => {
    const seed = Number(process.env['SEED'] ?? 5);
    const random = new Random(seed);
    const database = openDatabase(t);
    const rig = new Rig(database);
    const last = new Map<number, object>();
    for (let file = 0; file < 12; file++) {
      const lines = Array.from({ length: 1 + random.below(300) }, () => {
        const key = random.below(400);
        const line = market(key, { title: `Title ${random.below(3)}`, fee_bps: random.below(3) });
        return { key, line };
      });
      const carriedOut = lines.slice(0, random.below(lines.length + 1));
      await rig.run(carriedOut.map(({ line }) => line));
      for (const { key, line } of carriedOut) last.set(key, line);
    }
    const before = rig.exported();
    const again = await rig.run([...last.values()]);
    assert.deepEqual([again.unchanged, again.failed], [last.size, 0], `SEED=${seed}`);
    assert.equal(rig.exported(), before);
    assert.equal(rig.catalog.markets.length, last.size);
    assert.equal(rig.opened, last.size, 'every market was opened once');
    assert.deepEqual(new Catalog(database, 1).markets, rig.catalog.markets);
  });

  test('on a chain gives every market the tokens of the chain, and takes no others (RULES.md 17.30)', async (t) => {
    const chain = { marketFactory: `0x${'f1'.repeat(20)}`, collateral: `0x${'c1'.repeat(20)}` };
    const database = openDatabase(t);
    const rig = new Rig(database, SYNCED_AT_ONCE, chainTokens(chain));
    const id = 'd02e8e42-5f3a-4d13-95d5-5ae78bb29b02';
    const [yes, no] = outcomeTokenIds(chain, toIdBytes(id));
    const tokens = { yes_token_id: yes, no_token_id: no };
    const report = await rig.run([
      market(1),
      market(2, { yes_token_id: '7', no_token_id: '8' }),
      market(3, { condition_id: `0x${'11'.repeat(32)}` }),
      market(4, { id, ...tokens }),
      market(4, { id, ...tokens, condition_id: `0x${'11'.repeat(32)}` }),
    ]);
    const invalid = 'VALIDATION_ERROR';
    assert.deepEqual(results(report), ['created', invalid, invalid, 'created', invalid]);
    assert.match(JSON.stringify(report.lines[1]), /invalid yes_token_id/);
    assert.match(JSON.stringify(report.lines[4]), /invalid condition_id/);
    const [first, second] = rig.catalog.markets;
    assert.deepEqual([first.yesTokenId, first.noTokenId], outcomeTokenIds(chain, first.idBytes));
    assert.deepEqual([second.yesTokenId, second.noTokenId], [yes, no]);
    requireTokens(rig.catalog);
    const other = chainTokens({ ...chain, collateral: `0x${'c2'.repeat(20)}` });
    const reopened = new Catalog(database, 1, SYNCED_AT_ONCE, other);
    assert.throws(() => requireTokens(reopened), ConfigError, 'the settings name another USDC');
  });

  test('carries lines of one key out one after the other', async (t) => {
    const rig = new Rig(openDatabase(t));
    const report = await rig.run([
      market(1),
      market(1),
      market(1, { fee_bps: 3 }),
      market(1, { title: 'New' }),
      market(1),
    ]);
    assert.deepEqual(results(report), ['created', 'unchanged', 'updated', 'updated', 'updated']);
    assert.equal(rig.catalog.markets.length, 1);
    assert.equal(rig.catalog.markets[0]!.details.title, 'Market 1');
    assert.equal(rig.checkpoints, 4, 'after each group');
    assert.equal(rig.shard.get(0)!.feeBps, 3);
  });

  test('takes an empty name at the provider for none: it would make different markets the same one', async (t) => {
    const rig = new Rig(openDatabase(t));
    const report = await rig.run([1, 2].map((key) => market(key, { external_event_id: '' })));
    assert.deepEqual(results(report), ['VALIDATION_ERROR', 'VALIDATION_ERROR']);
    assert.equal(report.lines[0].error, 'missing field: id');
    assert.equal(rig.catalog.markets.length, 0);
    const id = '7d444840-9dc0-11d1-b245-5ffdce74fad2';
    assert.deepEqual(results(await rig.run([market(3, { id, external_event_id: '' })])), ['created']);
  });

  test('two at once of the same file make each market once', async (t) => {
    const rig = new Rig(openDatabase(t));
    const file = Array.from({ length: 300 }, (_, key) => market(key));
    const reports = await Promise.all([rig.run(file), rig.run(file)]);
    assert.deepEqual(
      reports.map(({ created, unchanged }) => [created, unchanged]),
      [
        [300, 0],
        [0, 300],
      ],
    );
  });

  test('removes nothing that a line leaves out, and writes no row for a line that says what is there', async (t) => {
    const rig = new Rig(openDatabase(t));
    await rig.run([
      market(1, { line: 2.5, settlement_sources: [{ name: 'A', url: 'https://b.example' }] }),
      { event: { slug: 'a', title: 'A' } },
    ]);
    const { updatedMs } = rig.catalog.markets[0]!;
    const same = [
      market(1, { settlement_sources: [{ url: 'https://b.example', name: 'A' }] }),
      { event: { slug: 'a', sport_league: null } },
    ];
    assert.deepEqual(results(await rig.run(same)), ['unchanged', 'unchanged']);
    assert.deepEqual([rig.catalog.markets[0]!.details.line, rig.catalog.markets[0]!.updatedMs], [2.5, updatedMs]);
  });

  test('keeps the estimate before a new one, as a single change does', async (t) => {
    const rig = new Rig(openDatabase(t));
    await rig.run([market(1, { outcome_probabilities: [40, 60] })]);
    await rig.run([market(1, { outcome_probabilities: [55, 45] })]);
    assert.deepEqual(rig.catalog.markets[0]!.details.previous_outcome_probabilities, [40, 60]);
  });
});

describe('the markets of an import', () => {
  test('are opened only once their rows survive a power cut', async (t) => {
    const database = openDatabase(t);
    let synced = (): void => undefined;
    let isSynced = false;
    const changes: Changes = {
      isDurable: false,
      write: (change) => change(),
      durable: () => (isSynced ? Promise.resolve() : new Promise<void>((resolve) => (synced = resolve))),
    };
    const rig = new Rig(database, changes);
    const report = rig.run(Array.from({ length: 20 }, (_, key) => market(key)));
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([rig.catalog.markets.length, rig.opened], [20, 0]);
    isSynced = true;
    synced();
    assert.equal((await report).created, 20);
    assert.equal(rig.opened, 20);
  });

  test('wait for a full ring, and say so when their shard is away', async (t) => {
    const rig = new Rig(openDatabase(t));
    rig.codes = [E.ENGINE_BUSY, E.ENGINE_BUSY, OK];
    assert.deepEqual(results(await rig.run([market(1)])), ['created']);
    assert.equal(rig.opened, 3);
    rig.isReady = false;
    assert.deepEqual(results(await rig.run([market(2), market(1)])), ['OUTCOME_UNKNOWN', 'unchanged']);
    assert.equal(rig.exported().split('\n').length, 2, 'what its shard does not have is hidden');
    rig.isReady = true;
    assert.deepEqual(results(await rig.run([market(2)])), ['created']);
    assert.equal(rig.catalog.markets.length, 2);
  });

  test('with a token of another market are refused, of the same file too', async (t) => {
    const rig = new Rig(openDatabase(t));
    const report = await rig.run([
      market(1, { yes_token_id: '7', no_token_id: '8' }),
      market(2, { yes_token_id: '9', no_token_id: '7' }),
      market(3),
      market(4, { yes_token_id: '9', no_token_id: '10' }),
    ]);
    assert.deepEqual(results(report), ['created', 'CONFLICT', 'created', 'created']);
    assert.deepEqual(
      rig.catalog.markets.map(({ details }) => details.title),
      ['Market 1', 'Market 3', 'Market 4'],
    );
    const derived = rig.catalog.markets[1]!.yesTokenId;
    assert.deepEqual(results(await rig.run([market(5, { yes_token_id: derived, no_token_id: '11' })])), ['CONFLICT']);
  });
});

describe('a line with an event set (RULES.md 9.40, 9.42, 9.44)', () => {
  const SET = { slug: 'who-wins', title: 'Who wins?', category: 'Politics', trading_ends_at: FAR, fee_bps: 30 };
  const named = (...titles: readonly string[]): object[] => titles.map((title) => ({ title }));
  const line = (more: object = {}): object => ({ event_set: { ...SET, markets: named('A', 'B', 'C'), ...more } });

  test('makes the event with its markets; a second time it changes nothing', async (t) => {
    const database = openDatabase(t);
    const rig = new Rig(database);
    const report = await rig.run([market(1), line(), market(2), line()]);
    assert.deepEqual(results(report), ['created', 'created', 'created', 'unchanged']);
    const event = rig.catalog.eventBySlug('who-wins')!;
    assert.deepEqual([report.lines[1]!.kind, report.lines[1]!.id], ['event_set', event.id]);
    assert.deepEqual([event.details.winners, event.details.category], [1, 'Politics']);
    const facts = event.markets.map(({ index, details }) => {
      return [details.title, details.description, details.category, rig.states.feeBps(index)];
    });
    assert.deepEqual(
      facts,
      ['A', 'B', 'C'].map((title) => [title, title, 'Politics', 30]),
    );
    assert.deepEqual(new Catalog(database, 1).events, rig.catalog.events);
  });

  test('exported with everything about it, it is made in another exchange as it was', async (t) => {
    const rig = new Rig(openDatabase(t));
    const [a, b] = ['a', 'b'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`);
    const more = { slug: 'who-wins', description: 'The count decides.', sport_teams: ['Reds'] };
    await rig.run([
      line({
        markets: [
          { id: a, title: 'A', subtitle: 'of Reds' },
          { id: b, title: 'B', description: 'No one' },
        ],
      }),
      { event: more },
      { market: { id: a, external_event_id: 'A-1', image_url: 'https://images.example/a.png' } },
      market(1),
    ]);
    const text = rig.exported();
    const lines = text
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each));
    const other = new Rig(openDatabase(t));
    const made = await other.run(lines);
    assert.equal(made.failed, 0, JSON.stringify(made.lines));
    assert.equal(other.exported(), text);
    const again = await other.run(lines);
    assert.deepEqual([again.unchanged, other.exported()], [lines.length, text]);
  });

  test('is refused by name where it cannot be carried out, and then makes nothing', async (t) => {
    const rig = new Rig(openDatabase(t));
    const id = 'd02e8e42-5f3a-4d13-95d5-5ae78bb29b02';
    await rig.run([{ event: { id, slug: 'no-set', title: 'No set' } }, market(1), line()]);
    const [listed] = rig.catalog.markets;
    const before = rig.exported();
    const other = (more: object): object => line({ slug: 'other', ...more });
    const report = await rig.run([
      line({ slug: 'no-set' }),
      line({ id: 'd02e8e42-0000-4000-8000-000000000000' }),
      line({ markets: named('A', 'B') }),
      line({ markets: named('A', 'B', 'D') }),
      line({ markets: [{ id, title: 'A' }, ...named('B', 'C')] }),
      other({ id }),
      other({ markets: [{ id: listed!.id.toUpperCase(), title: 'A' }, ...named('B')] }),
      other({
        markets: [
          { id, title: 'A' },
          { id, title: 'B' },
        ],
      }),
      other({ trading_ends_at: '2001-01-01T00:00:00Z' }),
      other({ markets: named('A') }),
      other({ markets: Array.from({ length: 65 }, () => ({ title: 'A' })) }),
      other({ winners: 2 }),
      { event: { slug: 'other', title: 'Other', winners: 1 } },
    ]);
    assert.deepEqual(results(report), [...new Array(8).fill('CONFLICT'), ...new Array(5).fill('VALIDATION_ERROR')]);
    rig.codeOfSets = E.SETS_UNAVAILABLE;
    assert.deepEqual(results(await rig.run([other({})])), ['SETS_UNAVAILABLE']);
    assert.equal(rig.exported(), before);
  });

  test('whose shard does not answer is completed when the line is imported again', async (t) => {
    const rig = new Rig(openDatabase(t));
    rig.isReady = false;
    assert.deepEqual(results(await rig.run([line()])), ['OUTCOME_UNKNOWN']);
    assert.equal(rig.opened, 0);
    rig.isReady = true;
    assert.deepEqual(results(await rig.run([line(), line()])), ['created', 'unchanged']);
    assert.deepEqual([rig.opened, rig.catalog.markets.length], [3, 3]);
  });
});
