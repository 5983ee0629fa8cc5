/**
 * Positions, average entries, realized P&L and the P&L of a day, after random trading of every kind, compared with what
 * slow code of its own makes of the engine's events: fractions of bigint, no caches, one event after the other
 * (RULES.md 13.9, 14.20 to 14.25).
 *
 *     SEED=7 node shared/run.mjs --test test/unit/gateway/account/positionOracle.test.ts
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { Projector } from '../../../../engine/projector/projector.ts';
import { PortfolioQueries, type PortfolioSlice } from '../../../../gateway/account/portfolioQueries.ts';
import { positionMask } from '../../../../gateway/account/positionIds.ts';
import { FIRST_POSITION, PositionQueries } from '../../../../gateway/account/positionQueries.ts';
import { FEE_ACCOUNT, isDecided, MATCH_TYPE, MOVEMENT } from '../../../../shared/base/codes.ts';
import { payoutMicro } from '../../../../shared/base/payout.ts';
import { HOUR_MS } from '../../../../shared/tables/buckets.ts';
import { decodeEvents, type Event, type EventOf } from '../../../../shared/wire/events.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(20_261_123);
const ACCOUNTS = [1, 2, 3];
const MARKETS = [0, 1, 2];
const MILLION = 1_000_000n;
const STRETCHES = 9;

class Fraction {
  readonly over: bigint;
  readonly under: bigint;

  constructor(over: bigint, under: bigint) {
    this.over = over;
    this.under = under;
  }

  plus(more: Fraction): Fraction {
    return new Fraction(this.over * more.under + more.over * this.under, this.under * more.under);
  }

  times(over: bigint, under: bigint): Fraction {
    return new Fraction(this.over * over, this.under * under);
  }
}

const NOTHING = new Fraction(0n, 1n);

type Held = {
  atomic: bigint;
  cost: bigint;
  realized: bigint;
  /** Cost and number, before fees, of the held tokens: exact, however often some were sold. */
  paid: Fraction;
  gross: Fraction;
  /** Entry of the tokens held last. */
  entry: Fraction;
  isPaid: boolean;
};

/** The moments of a position's quantity, of an account's cash, and of a market's price. */
type Past = { readonly timeMs: number; readonly value: bigint }[];

class Oracle {
  readonly held = new Map<string, Held>();
  readonly quantities = new Map<string, Past>();
  readonly cash = new Map<number, Past>();
  readonly prices = new Map<number, Past>();
  /** The fees of movements on a chain. */
  movementFees = 0n;
  readonly matches = new Set<number>();
  readonly #orders = new Map<number, { account: number; market: number; isBuy: boolean; outcome: number }>();
  readonly #markets = new Map<number, { ticksPerUnit: number; status: number; payoutYesPpm: number }>();
  #timeMs = 0;

  follow(timeMs: number, events: readonly Event[]): void {
    this.#timeMs = timeMs;
    for (const event of events) this.#apply(event);
    for (const event of events) if (event.name === 'ACCOUNT') this.#check(event);
  }

  at(account: number, market: number, outcome: number): Held {
    const key = `${account}/${market}/${outcome}`;
    const nothing = {
      atomic: 0n,
      cost: 0n,
      realized: 0n,
      paid: NOTHING,
      gross: NOTHING,
      entry: NOTHING,
      isPaid: false,
    };
    const held = this.held.get(key) ?? nothing;
    this.held.set(key, held);
    return held;
  }

  #apply(event: Event): void {
    if (event.name === 'ORDER') {
      const { side, outcome } = event.kind;
      this.#orders.set(event.slot, { account: event.account, market: event.market, isBuy: side === 0, outcome });
    } else if (event.name === 'MARKET') {
      const { ticksPerUnit, status, payoutYesPpm } = event;
      this.#markets.set(event.market, { ticksPerUnit, status, payoutYesPpm });
    } else if (event.name === 'FILL') {
      this.#fill(event);
    } else if (event.name === 'FUNDS' && event.account !== FEE_ACCOUNT) {
      this.#funds(event);
    }
  }

  #fill(event: EventOf<'FILL'>): void {
    const { ticksPerUnit } = this.#markets.get(event.market)!;
    this.matches.add(event.matchType);
    note(this.prices, event.market, this.#timeMs, (BigInt(event.yesTicks) * MILLION) / BigInt(ticksPerUnit));
    for (const [slot, fee] of [
      [event.makerSlot, event.makerFee],
      [event.takerSlot, event.takerFee],
    ] as const) {
      const { account, market, isBuy, outcome } = this.#orders.get(slot)!;
      const ticks = outcome === 0 ? event.yesTicks : ticksPerUnit - event.yesTicks;
      const tokens = BigInt(event.lots) * BigInt(ticksPerUnit);
      const micro = BigInt(event.lots) * BigInt(ticks);
      if (isBuy) this.#gain(account, market, outcome, tokens - BigInt(fee), tokens, micro);
      else this.#lose(account, market, outcome, tokens, micro - BigInt(fee));
    }
  }

  #funds({ account, market, movement, amount }: EventOf<'FUNDS'>): void {
    const tokens = BigInt(amount);
    if (movement === MOVEMENT.SPLIT) {
      this.#gain(account, market, 0, tokens, tokens, tokens - tokens / 2n);
      this.#gain(account, market, 1, tokens, tokens, tokens / 2n);
    } else if (movement === MOVEMENT.MERGE) {
      this.#lose(account, market, 0, tokens, tokens - tokens / 2n);
      this.#lose(account, market, 1, tokens, tokens / 2n);
    } else if (movement === MOVEMENT.CLAIM) {
      const { payoutYesPpm } = this.#markets.get(market)!;
      const [yes, no] = [this.at(account, market, 0), this.at(account, market, 1)];
      const forYes = no.atomic === 0n ? tokens : (yes.atomic * BigInt(payoutYesPpm)) / MILLION;
      this.#pay(account, market, forYes, tokens - forYes);
    } else {
      if (movement === MOVEMENT.FEE) this.movementFees += tokens;
      this.#move(account, movement === MOVEMENT.DEPOSIT ? tokens : -tokens);
    }
  }

  /** Tokens that pay nothing end without a movement of funds. */
  #check({ account, market, yesAvailable, yesReserved, noAvailable, noReserved }: EventOf<'ACCOUNT'>): void {
    if (account === FEE_ACCOUNT || !this.#markets.has(market)) return;
    const isOver = isDecided(this.#markets.get(market)!.status);
    const engine = [BigInt(yesAvailable + yesReserved), BigInt(noAvailable + noReserved)];
    if (isOver && engine[0] === 0n && engine[1] === 0n) this.#pay(account, market, 0n, 0n);
    for (const outcome of [0, 1]) assert.equal(this.at(account, market, outcome).atomic, engine[outcome]);
  }

  #pay(account: number, market: number, forYes: bigint, forNo: bigint): void {
    for (const [outcome, micro] of [forYes, forNo].entries()) {
      const held = this.at(account, market, outcome);
      if (held.atomic === 0n) continue;
      this.#lose(account, market, outcome, held.atomic, micro);
      held.isPaid = true;
    }
  }

  #gain(account: number, market: number, outcome: number, net: bigint, gross: bigint, micro: bigint): void {
    const held = this.at(account, market, outcome);
    held.atomic += net;
    held.cost += micro;
    held.paid = held.paid.plus(new Fraction(micro, 1n));
    held.gross = held.gross.plus(new Fraction(gross, 1n));
    held.entry = held.paid.times(held.gross.under, held.gross.over);
    this.#changed(account, market, outcome, held, -micro);
  }

  #lose(account: number, market: number, outcome: number, tokens: bigint, micro: bigint): void {
    const held = this.at(account, market, outcome);
    assert.ok(tokens <= held.atomic, 'without credit no more is sold than there is');
    const leaving = (held.cost * tokens) / held.atomic;
    held.paid = held.paid.times(held.atomic - tokens, held.atomic);
    held.gross = held.gross.times(held.atomic - tokens, held.atomic);
    held.realized += micro - leaving;
    held.cost -= leaving;
    held.atomic -= tokens;
    this.#changed(account, market, outcome, held, micro);
  }

  #changed(account: number, market: number, outcome: number, held: Held, cash: bigint): void {
    note(this.quantities, `${account}/${market}/${outcome}`, this.#timeMs, held.atomic);
    this.#move(account, cash);
  }

  #move(account: number, micro: bigint): void {
    note(this.cash, account, this.#timeMs, (this.cash.get(account)?.at(-1)?.value ?? 0n) + micro);
  }
}

function note<K>(pasts: Map<K, Past>, key: K, timeMs: number, value: bigint): void {
  const past = pasts.get(key) ?? [];
  pasts.set(key, past);
  past.push({ timeMs, value });
}

function before(past: Past | undefined, timeMs: number, otherwise: bigint): bigint {
  return past?.findLast((moment) => moment.timeMs < timeMs)?.value ?? otherwise;
}

/** Eight digits, a half rounded up. */
function price8({ over, under }: Fraction): bigint {
  return (2n * over * 10n ** 8n + under) / (2n * under);
}

function projected(shard: JournaledShard): Database.Database {
  const readDbPath = join(temporaryDirectory(), 'read.db');
  const progress = Progress.create(1);
  new Progress(progress).setCommitted(0, shard.last);
  const options = { journalPaths: [shard.file.journalPath], keys: [TEST_KEY], readDbPath, progress };
  const projector = new Projector(options);
  while (projector.step(true));
  projector.close();
  return new Database(readDbPath, { readonly: true });
}

describe(`accounts after random trading (SEED=${seed})`, () => {
  const shard = new JournaledShard(seed);
  for (let stretch = 0; stretch < STRETCHES; stretch++) {
    shard.trade(200);
    shard.rig.nowMs += 4 * HOUR_MS;
  }
  shard.decideMarkets();
  const oracle = new Oracle();
  for (const { timeMs, events } of shard.rig.journal.rows) {
    oracle.follow(timeMs, decodeEvents(events.words, events.word, events.end));
  }
  const db = projected(shard);
  const { ledger, markets } = shard.rig.engine.state;
  const nowMs = shard.rig.nowMs;
  const masks = [0, 1].map((outcome) => positionMask('user', outcome));

  it('had fills of every kind, tokens that left in parts, payouts and a market that is still open', () => {
    assert.deepEqual([...oracle.matches].sort(), [MATCH_TYPE.STANDARD, MATCH_TYPE.MINT, MATCH_TYPE.MERGE].sort());
    const held = [...oracle.held.values()];
    assert.ok(held.some(({ gross, atomic }) => atomic > 0n && gross.under > 1n));
    assert.ok(held.some(({ isPaid }) => isPaid) && held.some(({ isPaid, atomic }) => !isPaid && atomic > 0n));
  });

  it('RULES.md 14.20: every position is shown with its quantity, average entry, realized P&L and end', () => {
    const queries = new PositionQueries(db);
    let differing = 0;
    for (const account of ACCOUNTS) {
      const task = { account, market: null, after: FIRST_POSITION, limit: 100, masks, marked: new Set<number>() };
      const shown = queries.slice(task).texts.map((text) => JSON.parse(text));
      assert.equal(shown.length, MARKETS.length * 2);
      for (const [row, position] of shown.entries()) {
        const held = oracle.at(account, Math.floor(row / 2), row % 2);
        assert.equal(position.quantity, String(held.atomic));
        const realized = held.realized + unclaimed(oracle, account, Math.floor(row / 2), row % 2);
        assert.equal(BigInt(position.realized_pnl.replace('.', '')), realized, `${account}, row ${row}`);
        assert.equal(position.claimed, held.isPaid);
        const entry = BigInt(position.average_entry_price.replace('.', ''));
        const difference = entry - price8(held.entry);
        assert.ok(difference >= -1n && difference <= 1n, `${entry} is not ${price8(held.entry)}`);
        if (difference !== 0n) differing++;
      }
    }
    // The weight of the holding is kept to a thousandth of an atomic token, so the last digit hardly ever differs.
    assert.ok(differing <= 1, `${differing} last digits`);
  });

  /** The gain of unclaimed tokens of a decided market: the sum of both outcomes is rounded. */
  function unclaimed(oracle: Oracle, account: number, market: number, outcome: number): bigint {
    const { status, payoutYesPpm } = markets.peek(market)!;
    const [yes, no] = [oracle.at(account, market, 0), oracle.at(account, market, 1)];
    if (!isDecided(status)) return 0n;
    const forYes = (yes.atomic * BigInt(payoutYesPpm)) / MILLION;
    const both = (yes.atomic * BigInt(payoutYesPpm) + no.atomic * (MILLION - BigInt(payoutYesPpm))) / MILLION;
    return outcome === 0 ? forYes - yes.cost : both - forYes - no.cost;
  }

  it('RULES.md 14.20: what was realized less what is left cost is the cash of each account, and of all of them', () => {
    let gained = 0n;
    for (const account of ACCOUNTS) {
      const own = [...oracle.held].filter(([key]) => key.startsWith(`${account}/`)).map(([, held]) => held);
      const ofAccount = own.reduce((sum, { realized, cost }) => sum + realized - cost, 0n);
      const funded = oracle.cash.get(account)!.at(-1)!.value - ofAccount;
      const sums = db.prepare(
        'SELECT sum(funded_micro), sum(realized_micro - cost_micro) FROM account_stats WHERE account = ?',
      );
      assert.deepEqual(sums.safeIntegers().raw().get(account), [funded, ofAccount]);
      assert.equal(BigInt(ledger.availableMicro(account) + ledger.reservedOf(account)), funded + ofAccount);
      gained += ofAccount;
    }
    const fees = BigInt(ledger.availableMicro(FEE_ACCOUNT));
    const collateral = MARKETS.reduce((sum, market) => sum + BigInt(markets.peek(market)!.collateralMicro), 0n);
    assert.ok(oracle.movementFees > 0n, 'movements with a fee');
    const ofTrades = fees - oracle.movementFees;
    assert.equal(gained + ofTrades + collateral, 0n, 'all that accounts lost is a fee or locked for tokens');
  });

  it('RULES.md 14.25: the gain of a day is the change of cash and worth, without money in or out', () => {
    const queries = new PortfolioQueries(db);
    const sinceMs = nowMs - (nowMs % HOUR_MS) - 23 * HOUR_MS;
    for (const account of ACCOUNTS) {
      const slice = queries.slice({ account, sinceMs, after: null });
      const cashThen = before(oracle.cash.get(account), sinceMs, 0n);
      let then = cashThen;
      let now = oracle.cash.get(account)!.at(-1)!.value;
      for (const market of MARKETS) {
        const known = markets.peek(market)!;
        const price = before(oracle.prices.get(market), sinceMs, MILLION / 2n);
        const last = before(oracle.prices.get(market), Number.POSITIVE_INFINITY, MILLION / 2n);
        const present = isDecided(known.status) ? BigInt(known.payoutYesPpm) : last;
        const heldThen = [0, 1].map((outcome) =>
          before(oracle.quantities.get(`${account}/${market}/${outcome}`), sinceMs, 0n),
        );
        const heldNow = [0, 1].map((outcome) => oracle.at(account, market, outcome).atomic);
        const worth = ([yes, no]: bigint[], yesPpm: bigint): bigint =>
          (yes! * yesPpm + no! * (MILLION - yesPpm)) / MILLION;
        then += worth(heldThen, price);
        now += worth(heldNow, present);
      }
      const [{ funded }] = db
        .prepare<[number], { funded: bigint }>(
          'SELECT sum(funded_micro) AS funded FROM account_stats WHERE account = ?',
        )
        .safeIntegers()
        .all(account) as [{ funded: bigint }];
      const movedIn = funded - slice.fundedThenMicro;
      const worthThen = slice.gainedThenMicro + slice.fundedThenMicro + slice.worthThenMicro;
      const gained = slice.gainedMicro - slice.gainedThenMicro + worthOfHeld(slice) - slice.worthThenMicro;
      assert.equal(worthThen, then, `account ${account} at the start`);
      assert.equal(gained, now - then - movedIn, `account ${account}`);
      assert.notEqual(gained, 0n);
      assert.equal(slice.next, null);
    }
  });
});

function worthOfHeld({ held }: PortfolioSlice): bigint {
  let worth = 0n;
  for (const [row, yesAtomic] of held.yesAtomic.entries())
    worth += BigInt(payoutMicro(yesAtomic, held.noAtomic[row]!, held.lastYesPpm[row]!));
  return worth;
}
