import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import type { MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { MARKET_STATUS, type MarketStatus } from '../../../../shared/base/codes.ts';
import { CATALOG_T0, CatalogRig } from '../../../support/catalogRig.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const rigs: CatalogRig[] = [];
after(() => {
  for (const rig of rigs) rig.close();
});

function newRig(): CatalogRig {
  const rig = new CatalogRig();
  rigs.push(rig);
  return rig;
}

function listed(rig: CatalogRig): unknown[] {
  return rig.read(`
    SELECT market, title, category, status, start_ms, end_ms, volume_micro
    FROM catalog_markets WHERE facet IS NOT NULL`);
}

const COUNTED = 'SELECT category, facet, markets FROM market_counts ORDER BY category, facet';

/** Changes of every kind, in random order. */
class Story {
  readonly rig: CatalogRig;
  readonly #random: Random;
  readonly #open: MarketEntry[] = [];
  #unopened: MarketEntry | null = null;

  constructor(rig: CatalogRig, seed: number) {
    this.rig = rig;
    this.#random = new Random(seed);
  }

  step(): void {
    const { rig } = this;
    const random = this.#random;
    const choice = this.#open.length < 3 ? 0 : random.below(8);
    if (choice === 0) {
      // Journal and catalogue are followed independently: the shard may open a market a while later.
      if (this.#unopened !== null && random.chance(30)) rig.catalog.removeNewest(this.#unopened);
      else if (this.#unopened !== null) this.#open.push(this.#opened(this.#unopened));
      this.#unopened = rig.describe(this.#details(), this.#eventId());
    } else if (choice === 1) rig.event(this.#eventDetails());
    else if (choice === 2 && rig.catalog.events.length > 0) {
      rig.changeEvent(random.pick(rig.catalog.events), this.#eventDetails());
    } else if (choice === 3) rig.change(random.pick(this.#open), this.#details(), this.#eventId());
    else if (choice === 4) rig.trade(random.pick(this.#open), random.between(1, 5) * 1000);
    else {
      const status = random.below(8) as MarketStatus;
      rig.setTerms(random.pick(this.#open), { status, endMs: CATALOG_T0 + random.between(1, 9) });
    }
  }

  #opened(market: MarketEntry): MarketEntry {
    this.rig.setTerms(market);
    return market;
  }

  #eventId(): string | null {
    const { events } = this.rig.catalog;
    return events.length === 0 || this.#random.chance(30) ? null : this.#random.pick(events).id;
  }

  #details() {
    return {
      title: `Will ${this.#random.pick(['rain', 'snow', 'sun'])} win?`,
      category: this.#random.pick(['Weather', 'Sports']),
      description: `Rule ${this.#random.below(5)}.`,
      outcomes: this.#random.pick([
        ['Yes', 'No'],
        ['Hawks', 'Bulls'],
      ]),
      ...(this.#random.chance(50) ? { condition_id: `0x${'ab'.repeat(32)}` } : {}),
    };
  }

  #eventDetails(): object {
    return {
      title: `Night ${this.#random.below(9)}`,
      status: this.#random.pick(['upcoming', 'live', 'ended']),
      category: this.#random.pick(['Weather', 'Sports']),
      sport_league: this.#random.pick([null, 'NFL', 'NBA']),
      sport_teams: this.#random.pick([null, ['Bears', 'Lions'], ['Lions', 'Lions'], ['Hawks']]),
    };
  }
}

describe('the projection of the catalogue', () => {
  it('lists a market from when its shard has opened it, whichever is followed first', () => {
    const rig = newRig();
    const market = rig.describe({ title: 'Will it snow?', category: 'Weather' });
    rig.project();
    assert.deepEqual(listed(rig), []);
    assert.deepEqual(rig.read(COUNTED), []);
    rig.setTerms(market, { status: MARKET_STATUS.PENDING, startMs: 5, endMs: 9 });
    rig.project();
    const row = { market: 0, title: 'Will it snow?', category: 'Weather', status: 'pending', start_ms: 5, end_ms: 9 };
    assert.deepEqual(listed(rig), [{ ...row, volume_micro: 0 }]);
    const later = newRig();
    const known = later.describe({ title: 'Will it snow?', category: 'Weather' });
    later.setTerms(known, { status: MARKET_STATUS.PENDING, startMs: 5, endMs: 9 });
    later.commit();
    const journalFirst = later.newProjector();
    journalFirst.close();
    later.project();
    assert.deepEqual(listed(later), [{ ...row, volume_micro: 0 }]);
  });

  it('follows the status, the times and the volume of a market', () => {
    const rig = newRig();
    const market = rig.open();
    rig.trade(market, 1000);
    rig.project();
    rig.trade(market, 3000);
    rig.setTerms(market, { status: MARKET_STATUS.LOCKED, startMs: 7, endMs: 8 });
    rig.project();
    const [row] = rig.read<Record<string, unknown>>(
      'SELECT status, start_ms, end_ms, volume_micro FROM catalog_markets',
    );
    assert.deepEqual(row, { status: 'locked', start_ms: 7, end_ms: 8, volume_micro: 4000 * 50 });
    const facet = MARKET_STATUS.LOCKED * 8;
    assert.deepEqual(rig.read(COUNTED), [
      { category: '', facet, markets: 1 },
      { category: 'Weather', facet, markets: 1 },
    ]);
  });

  it('CATALOGVOLUMES-1: lists a volume whose projector ended before it had the time', () => {
    const rig = newRig();
    const market = rig.open();
    rig.project();
    rig.trade(market, 1000);
    rig.restart();
    rig.commit();
    const ending = rig.newProjector();
    assert.ok(ending.step(true), 'a step that follows records lists no volumes');
    ending.close();
    const volumes = (): unknown[] => rig.read('SELECT volume_micro FROM catalog_markets');
    assert.deepEqual(volumes(), [{ volume_micro: 0 }]);
    rig.project();
    assert.deepEqual(volumes(), [{ volume_micro: 50_000 }]);
  });

  it('leaves no ghost of a market that was removed, also when its index is used again', () => {
    const rig = newRig();
    const ghost = rig.describe({ title: 'A ghost' });
    rig.project();
    rig.catalog.removeNewest(ghost);
    rig.project();
    assert.deepEqual(rig.read('SELECT * FROM catalog_markets'), []);
    const removed = rig.describe({ title: 'Another ghost' });
    rig.catalog.removeNewest(removed);
    rig.open({ title: 'Flesh' });
    rig.project();
    assert.deepEqual(rig.read('SELECT market, title FROM catalog_markets'), [{ market: 0, title: 'Flesh' }]);
    assert.deepEqual(rig.read(`SELECT rowid FROM market_search WHERE market_search MATCH 'ghost'`), []);
  });

  it('counts the markets of an event and knows its words', () => {
    const rig = newRig();
    const event = rig.event({ title: 'Finals', sport_league: 'NBA', sport_teams: ['Hawks', 'Bulls'] });
    const other = rig.event({ title: 'Elsewhere' });
    const market = rig.open({ title: 'Moneyline' }, event.id);
    rig.open({ title: 'Total' }, event.id, { status: MARKET_STATUS.SETTLED });
    rig.project();
    const counts = 'SELECT event, markets, live_markets FROM catalog_events';
    assert.deepEqual(rig.read(counts), [
      { event: 0, markets: 2, live_markets: 1 },
      { event: 1, markets: 0, live_markets: 0 },
    ]);
    const found = (words: string): unknown[] =>
      rig
        .read<{ rowid: number }>(`SELECT rowid FROM event_names WHERE event_names MATCH '${words}'`)
        .map((row) => row.rowid);
    assert.deepEqual([found('finals moneyline'), found('hawks'), found('elsewhere')], [[0], [0], [1]]);
    rig.change(market, {}, other.id);
    rig.project();
    assert.deepEqual([found('moneyline'), found('total')], [[1], [0]]);
    rig.change(market, { outcomes: ['Peñarol', 'No'] });
    rig.project();
    assert.deepEqual([found('penarol'), found('no'), found('yes')], [[1], [], []], 'Yes and No say nothing');
    const markets = `SELECT rowid FROM market_search WHERE market_search MATCH 'penarol'`;
    assert.deepEqual(rig.read(markets), [{ rowid: market.index }]);
    assert.deepEqual(rig.read(counts), [
      { event: 0, markets: 1, live_markets: 0 },
      { event: 1, markets: 1, live_markets: 1 },
    ]);
  });

  it('begins again with a catalogue that was set back', () => {
    const rig = newRig();
    rig.open({ title: 'First' });
    rig.event({ title: 'Night', sport_league: 'NFL' });
    const path = join(temporaryDirectory(), 'read.db');
    const follow = (): void => {
      const projector = rig.newProjector(path);
      rig.commit();
      while (projector.step(true));
      projector.close();
    };
    follow();
    const before = rig.dump(path);
    const ahead = new Database(path);
    ahead.exec(`
      UPDATE catalog_cursor SET revision = 1000;
      UPDATE catalog_markets SET title = 'Of the other catalogue';
      INSERT INTO market_search (rowid, title) VALUES (7, 'other');
      INSERT INTO sport_teams VALUES ('Other', 'XFL', '', 1)`);
    ahead.close();
    follow();
    assert.deepEqual(rig.dump(path), before);
  });

  it('comes to the same rows page by page, after a restart at any step, and rebuilt from nothing', () => {
    const seed = seedOr(20_260_101);
    console.log(`seed ${seed}`);
    const rig = newRig();
    const story = new Story(rig, seed);
    const restartedPath = join(temporaryDirectory(), 'read.db');
    for (let step = 0; step < 250; step++) {
      story.step();
      rig.project();
      if (step % 10 === 9) {
        // A thread that ends after any of its steps.
        const projector = rig.newProjector(restartedPath);
        for (let steps = step % 3; steps >= 0; steps--) projector.step(true);
        projector.close();
      }
    }
    const last = rig.newProjector(restartedPath);
    while (last.step(true));
    last.close();
    const rebuiltPath = join(temporaryDirectory(), 'read.db');
    const rebuilt = rig.newProjector(rebuiltPath);
    while (rebuilt.step(true));
    rebuilt.close();
    const journalsFirstPath = join(temporaryDirectory(), 'read.db');
    // As after `projections rebuild`: the catalogue comes with the next start.
    for (const isWhole of [false, true]) {
      const projector = isWhole ? rig.newProjector(journalsFirstPath) : rig.projectorOfJournals(journalsFirstPath);
      while (projector.step(true));
      projector.close();
    }
    for (const path of [restartedPath, rebuiltPath, journalsFirstPath]) assert.deepEqual(rig.dump(path), rig.dump());
    assert.deepEqual(
      rig.read(COUNTED),
      rig.read(`
      SELECT * FROM (
        SELECT '' AS category, facet, count(*) AS markets FROM catalog_markets WHERE facet IS NOT NULL GROUP BY facet
        UNION ALL
        SELECT category, facet, count(*) FROM catalog_markets WHERE facet IS NOT NULL GROUP BY category, facet)
      ORDER BY category, facet`),
      'CATALOGROWS-2',
    );
    const sums = rig.read<{ volume_micro: number }>('SELECT event, volume_micro, ends_ms FROM catalog_events');
    assert.ok(sums.some(({ volume_micro }) => volume_micro > 0));
    assert.deepEqual(
      sums,
      rig.read(`
      SELECT catalog_events.event, ifnull(sum(catalog_markets.volume_micro), 0) AS volume_micro,
        min(end_ms) FILTER (WHERE catalog_markets.status IN ('active', 'locked', 'resolving')) AS ends_ms
      FROM catalog_events LEFT JOIN catalog_markets
        ON catalog_markets.event = catalog_events.event AND facet IS NOT NULL
      GROUP BY catalog_events.event`),
      'EVENTROWS-3, CATALOGVOLUMES-2',
    );
  });
});
