/**
 * Statements of random trading in two shards (RULES.md 14.42), against the balances that the engine itself says after
 * each record: no code that computes deltas is in common.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { StatementQueries } from '../../../../gateway/account/statementQueries.ts';
import { StatementReader } from '../../../../gateway/account/statementReader.ts';
import { csvRows, jsonRows } from '../../../../gateway/account/statementRows.ts';
import { StatementStartQueries } from '../../../../gateway/account/statementStartQueries.ts';
import { FEE_ACCOUNT, MARKET_STATUS, MOVEMENT, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import type { Statement, StatementEntry } from '../../../../shared/client/types.ts';
import { NO_MARKET } from '../../../../shared/wire/commands.ts';
import { decodeEvents } from '../../../../shared/wire/events.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const seed = seedOr(31);
const random = seededRandom(seed);
const pick = (n: number): number => Math.floor(random() * n);
const ACCOUNTS = [1, 2, 3, 4];
const SHARDS = 2;
const MARKETS_OF_SHARD = 3;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Some commands have the same millisecond, others are days apart. */
const PAUSES_MS = [0, 0, 0, 1, 1, MINUTE_MS, 25 * MINUTE_MS, 5 * 60 * MINUTE_MS, 2 * DAY_MS];

/** The property of an account: `USDC`, and tokens by market and outcome. */
type Balances = Record<string, number>;
type Change = { readonly shard: number; readonly timeMs: number; readonly account: number; readonly owned: Balances };

const rig = new ProjectionRig({ shards: SHARDS, seed });
after(() => rig.close());

function trade(commands: number): void {
  for (let i = 0; i < commands; i++) {
    const shard = pick(SHARDS);
    const one = rig.rigs[shard]!;
    const market = shard * MARKETS_OF_SHARD + pick(2);
    const account = ACCOUNTS[pick(ACCOUNTS.length)]!;
    const die = pick(100);
    if (die < 5) one.fund(account, 1 + pick(3_000_000), pick(2));
    else if (die < 10) one.convert(account, market, 1_000_000 * (1 + pick(3)), MOVEMENT.MERGE);
    else if (die < 15) one.convert(account, market, 1_000_000 * (1 + pick(3)), MOVEMENT.SPLIT);
    else if (die < 18) one.cancelMany(account, market);
    else {
      one.place({
        account,
        market,
        side: pick(3) === 0 ? SIDE.SELL : SIDE.BUY,
        outcome: pick(2),
        ticks: 44 + pick(13),
        lots: 10_000 * (1 + pick(4)) + pick(100),
        timeInForce: pick(5) === 0 ? TIME_IN_FORCE.FAK : TIME_IN_FORCE.GTC,
      });
    }
    const pause = PAUSES_MS[pick(PAUSES_MS.length)]!;
    for (const each of rig.rigs) each.nowMs += pause;
  }
  rig.write();
}

/** Claims, settlements and refunds: in each shard one market that pays unevenly, and one that is cancelled. */
function decide(): void {
  for (const each of rig.rigs) each.nowMs += MINUTE_MS;
  for (const [shard, one] of rig.rigs.entries()) {
    const [decided, cancelled] = [shard * MARKETS_OF_SHARD, shard * MARKETS_OF_SHARD + 1];
    one.patch(decided, { status: MARKET_STATUS.LOCKED });
    one.resolve(decided, shard === 0 ? 333_333 : 1_000_000);
    one.claim(2, decided);
    one.settle(decided);
    one.resolve(cancelled, 500_000, MARKET_STATUS.CANCELLED);
    one.claim(3, cancelled);
    one.settle(cancelled);
    leaveLosingTokens(one, shard * MARKETS_OF_SHARD + 2);
  }
  rig.write();
}

/** Account 4 has nothing but No tokens, which pay nothing. */
function leaveLosingTokens(one: (typeof rig.rigs)[number], market: number): void {
  one.convert(4, market, 2_000_000, MOVEMENT.SPLIT);
  one.place({ account: 4, market, side: SIDE.SELL, ticks: 50, lots: 20_000 });
  one.place({ account: 1, market, side: SIDE.BUY, ticks: 50, lots: 20_000 });
  one.patch(market, { status: MARKET_STATUS.LOCKED });
  one.resolve(market, 1_000_000);
  one.settle(market);
}

/** The ACCOUNT events, in absolute terms of their shards. */
function changes(): Change[] {
  return rig.rigs.flatMap(({ journal }, shard) =>
    journal.rows.flatMap(({ timeMs, events }) =>
      decodeEvents(events.words, events.word, events.end).flatMap((event): Change[] => {
        if (event.name !== 'ACCOUNT') return [];
        const owned: Balances = { USDC: event.netMicro + event.reservedMicro };
        if (event.market !== NO_MARKET) {
          owned[`${event.market}/0`] = event.yesAvailable + event.yesReserved;
          owned[`${event.market}/1`] = event.noAvailable + event.noReserved;
        }
        return [{ shard, timeMs, account: event.account, owned }];
      }),
    ),
  );
}

/** Before a moment, as the engine said last; without zeros. */
function ownedBefore(all: readonly Change[], account: number, ms: number): Balances {
  const ofShards: Balances[] = Array.from({ length: SHARDS }, () => ({}));
  for (const change of all) {
    if (change.account === account && change.timeMs < ms) Object.assign(ofShards[change.shard]!, change.owned);
  }
  const sum: Balances = {};
  for (const owned of ofShards) for (const [asset, atomic] of Object.entries(owned)) add(sum, asset, atomic);
  return withoutZeros(sum);
}

function add(balances: Balances, asset: string, atomic: number): void {
  balances[asset] = (balances[asset] ?? 0) + atomic;
}

function withoutZeros(balances: Balances): Balances {
  return Object.fromEntries(Object.entries(balances).filter(([, atomic]) => atomic !== 0));
}

type Period = { fromMs: number | null; toMs: number | null };

/** Reads read.db in this thread, in pages of a few rows; `between` runs before every page. */
async function read(
  account: number,
  form: 'json' | 'csv',
  period: Period,
  between = (): void => {},
  path = rig.readDbPath,
): Promise<string> {
  const db = new Database(path, { readonly: true });
  const [starts, pages] = [new StatementStartQueries(db), new StatementQueries(db)];
  const ask = async (_: number, name: string, task: never) => {
    if (name === 'statementStart') {
      const { account: of, fromMs } = task as { account: number; fromMs: number };
      return { ok: true, value: starts.start(of, fromMs) };
    }
    between();
    return { ok: true, value: pages.page({ ...(task as object), rows: 1 + pick(9) } as never) };
  };
  const queries = { ofAccount: ask, furtherOfAccount: ask } as never;
  const reader = new StatementReader(queries, account, { ...period, nowMs: rig.rigs[0]!.nowMs });
  assert.deepEqual(await reader.open(form), { ok: true });
  const known = { movements: { byHash: () => undefined }, marketId: String };
  const rows = form === 'json' ? jsonRows(reader, known) : csvRows(reader, known);
  let text = '';
  for (let row = rows.next(); !row.done; row = rows.next()) {
    if (typeof row.value === 'string') text += row.value;
    else await row.value;
  }
  db.close();
  return text;
}

const statementOf = async (account: number, period: Period, between?: () => void): Promise<Statement> =>
  JSON.parse(await read(account, 'json', period, between));

function balancesOf({ usdc_micro, tokens }: Statement['opening']): Balances {
  const balances: Balances = { USDC: Number(usdc_micro) };
  for (const { market_id, outcome_index, quantity_atomic } of tokens) {
    balances[`${market_id}/${outcome_index}`] = Number(quantity_atomic);
  }
  return withoutZeros(balances);
}

/** Markets are known by their UUIDs in entries, by their index in balances: the rig gives them UUIDs of their index. */
function indexOf(uuid: string): number {
  return Buffer.from(uuid.slice(0, 8), 'hex').readUInt32LE() - 1;
}

function afterEntries({ opening, entries }: Statement): Balances {
  const owned: Balances = { USDC: 0, ...balancesOf(opening) };
  for (const entry of entries) {
    add(owned, 'USDC', Number(entry.usdc_delta_micro));
    assert.equal(Number(entry.usdc_balance_micro), owned['USDC'], 'each entry has the balance after it');
    if (entry.market_id === null) continue;
    add(owned, `${indexOf(entry.market_id)}/0`, Number(entry.yes_delta_atomic));
    add(owned, `${indexOf(entry.market_id)}/1`, Number(entry.no_delta_atomic));
  }
  return withoutZeros(owned);
}

type Position = { quantity: number; cost: number; realized: number };

/** By the average-cost method, from the entries alone, none of which is a payout. */
function positionsAfter(entries: readonly StatementEntry[]): Record<string, Position> {
  const positions: Record<string, Position> = {};
  const exchange = (key: string, atomic: number, paid: number): void => {
    if (atomic === 0) return;
    positions[key] ??= { quantity: 0, cost: 0, realized: 0 };
    const position = positions[key];
    const left = atomic < 0 ? Number((BigInt(position.cost) * BigInt(-atomic)) / BigInt(position.quantity)) : 0;
    position.quantity += atomic;
    position.cost += atomic < 0 ? 0 - left : paid;
    position.realized -= atomic < 0 ? paid + left : 0;
  };
  for (const entry of entries) {
    if (entry.market_id === null) continue;
    const market = indexOf(entry.market_id);
    const paid = 0 - Number(entry.usdc_delta_micro);
    const [yes, no] = [Number(entry.yes_delta_atomic), Number(entry.no_delta_atomic)];
    const half = Math.sign(paid) * Math.floor(Math.abs(paid) / 2);
    const ofYes = entry.type !== 'fill' ? paid - half : yes === 0 ? 0 : paid;
    exchange(`${market}/0`, yes, ofYes);
    exchange(`${market}/1`, no, paid - ofYes);
  }
  return positions;
}

function positionsOf(account: number): Record<string, Position> {
  const db = new Database(rig.readDbPath, { readonly: true });
  const rows = db
    .prepare<[number], Position & { key: string }>(
      `SELECT market || '/' || outcome AS key, quantity_atomic AS quantity, cost_micro AS cost,
         realized_micro AS realized FROM positions WHERE account = ?`,
    )
    .all(account);
  db.close();
  return Object.fromEntries(rows.map(({ key, ...position }) => [key, position]));
}

function isInOrder(entries: readonly StatementEntry[]): boolean {
  return entries.every(({ time }, at) => at === 0 || Date.parse(entries[at - 1]!.time) <= Date.parse(time));
}

it("RULES.md 14.42: statements include a shard's movements while another shard has no record yet", async () => {
  const one = new ProjectionRig({ shards: SHARDS, seed });
  after(() => one.close());
  const progress = Progress.create(SHARDS);
  new Progress(progress).setCommitted(1, one.journals[1]!.lastSequence);
  one.project({ progress });
  const text = await read(1, 'json', { fromMs: null, toMs: null }, () => {}, one.readDbPath);
  const { entries, closing }: Statement = JSON.parse(text);
  assert.deepEqual(
    entries.map(({ type, usdc_delta_micro }) => [type, usdc_delta_micro]),
    [
      ['deposit', '1000000000'],
      ['split', '-40000000'],
    ],
  );
  assert.equal(closing.usdc_micro, '960000000');
});

describe(`statements of random trading (seed ${seed})`, () => {
  trade(500);
  rig.project();
  const undecided = Object.fromEntries(ACCOUNTS.map((account) => [account, positionsOf(account)]));
  const decidedMs = Math.max(...rig.rigs.map(({ nowMs }) => nowMs)) + 1;
  decide();
  rig.project();
  const all = changes();
  const [firstMs, lastMs] = [all[0]!.timeMs, Math.max(...all.map(({ timeMs }) => timeMs))];

  it('RULES.md 14.42: up to the present they close to what the engine says, in USDC and in every token', async () => {
    for (const account of ACCOUNTS) {
      const statement = await statementOf(account, { fromMs: null, toMs: null });
      assert.deepEqual(balancesOf(statement.opening), {});
      assert.deepEqual(balancesOf(statement.closing), afterEntries(statement));
      assert.deepEqual(balancesOf(statement.closing), ownedBefore(all, account, Number.POSITIVE_INFINITY));
      const reserved = rig.rigs.reduce((sum, { engine }) => sum + engine.state.ledger.reservedOf(account), 0);
      const available = rig.rigs[0]!.balances.availableMicro(account);
      assert.equal(Number(statement.closing.usdc_micro), available + reserved);
      assert.ok(isInOrder(statement.entries));
      assert.ok(statement.entries.length > 100, `${statement.entries.length} entries`);
    }
  });

  it('RULES.md 13.9: their entries, in their order, lead to quantity, cost and gain of each position', async () => {
    for (const account of ACCOUNTS) {
      const { entries } = await statementOf(account, { fromMs: null, toMs: decidedMs });
      assert.deepEqual(positionsAfter(entries), undecided[account]);
      assert.ok(
        entries.some(({ id }, at) => entries[at - 1]?.id === id),
        'it has traded with itself',
      );
    }
  });

  it('RULES.md 14.42: of any period they open and close to what the engine said at its ends', async () => {
    for (let round = 0; round < 60; round++) {
      const account = ACCOUNTS[pick(ACCOUNTS.length)]!;
      const moments = [0, 1].map(() => all[pick(all.length)]!.timeMs + pick(3) - 1).sort((a, b) => a - b);
      const [fromMs, toMs] = [moments[0]!, Math.max(moments[1]!, moments[0]! + 1)];
      const statement = await statementOf(account, { fromMs, toMs });
      assert.deepEqual(balancesOf(statement.opening), ownedBefore(all, account, fromMs), `${account} from ${fromMs}`);
      assert.deepEqual(balancesOf(statement.closing), ownedBefore(all, account, toMs), `${account} to ${toMs}`);
      assert.deepEqual(balancesOf(statement.closing), afterEntries(statement));
      assert.ok(statement.entries.every(({ time }) => Date.parse(time) >= fromMs && Date.parse(time) < toMs));
    }
  });

  it('RULES.md 14.42: periods that follow each other have every entry once', async () => {
    const [account] = ACCOUNTS;
    const whole = await statementOf(account!, { fromMs: null, toMs: null });
    const middleMs = Math.floor((firstMs + lastMs) / 2);
    const first = await statementOf(account!, { fromMs: null, toMs: middleMs });
    const second = await statementOf(account!, { fromMs: middleMs, toMs: null });
    assert.deepEqual([...first.entries, ...second.entries], whole.entries);
    assert.deepEqual(second.opening, first.closing);
  });

  it('RULES.md 14.42: the fees of all fills add up to the income of the fee account', async () => {
    const fees: Balances = {};
    for (const account of ACCOUNTS) {
      for (const entry of (await statementOf(account, { fromMs: null, toMs: rig.rigs[0]!.nowMs })).entries) {
        add(fees, 'USDC', Number(entry.fee_usdc_micro));
        if (entry.side === 'BUY')
          add(fees, `${indexOf(entry.market_id!)}/${entry.outcome_index}`, Number(entry.fee_token_atomic));
      }
    }
    const beforePayouts = all.filter(({ timeMs }) => timeMs < rig.rigs[0]!.nowMs);
    const got: Balances = {};
    for (const { account, owned } of beforePayouts) if (account === FEE_ACCOUNT) Object.assign(got, owned);
    const { USDC: _, ...tokens } = withoutZeros(got);
    const { USDC: usdc, ...tokenFees } = withoutZeros(fees);
    assert.deepEqual(tokenFees, tokens);
    assert.equal(usdc, ownedBefore(beforePayouts, FEE_ACCOUNT, Number.POSITIVE_INFINITY)['USDC']);
  });

  it('RULES.md 14.42: records that come while a statement is read are not in it, whatever their time', async () => {
    const [account] = ACCOUNTS;
    const expected = ownedBefore(all, account!, Number.POSITIVE_INFINITY);
    let pages = 0;
    const statement = await statementOf(account!, { fromMs: null, toMs: null }, () => {
      if (++pages % 10 !== 0) return;
      // Another shard may be behind: its records are older than entries that have been read.
      for (const one of rig.rigs) one.fund(account!, 1_000, MOVEMENT.DEPOSIT);
      rig.write();
      rig.project();
    });
    assert.ok(pages > 20, `${pages} pages`);
    assert.deepEqual(balancesOf(statement.closing), expected);
    assert.deepEqual(balancesOf(statement.closing), afterEntries(statement));
  });

  it('RULES.md 14.42: CSV has the same lines, with the balances first and last', async () => {
    const period = { fromMs: firstMs + DAY_MS, toMs: lastMs };
    const statement = await statementOf(2, period);
    const csv = await read(2, 'csv', period);
    const [header, ...lines] = csv.split('\r\n').map((line) => line.split(','));
    assert.deepEqual(lines.pop(), [''], 'every line ends');
    const rows = lines.map((cells) => Object.fromEntries(header!.map((name, at) => [name, cells[at]!])));
    const ofType = (type: string) => rows.filter((row) => row['type'] === type);
    const entries = rows.filter((row) => !row['type']!.endsWith('_balance'));
    assert.deepEqual(rows, [...ofType('opening_balance'), ...entries, ...ofType('closing_balance')]);
    for (const [at, entry] of statement.entries.entries()) {
      for (const [name, value] of Object.entries(entry)) {
        const cell = name === 'reference' ? entries[at]![name]!.replaceAll('"', '') : entries[at]![name];
        assert.equal(cell, String(value ?? ''), name);
      }
    }
    assert.equal(ofType('opening_balance')[0]!['usdc_balance_micro'], statement.opening.usdc_micro);
    assert.equal(ofType('closing_balance')[0]!['usdc_balance_micro'], statement.closing.usdc_micro);
    const tokens = ofType('closing_balance')
      .slice(1)
      .map((row) => row['token_balance_atomic']);
    assert.deepEqual(
      tokens,
      statement.closing.tokens.map(({ quantity_atomic }) => quantity_atomic),
    );
  });

  it('RULES.md 14.42: balances of long ago are exact, and carried where history begins with a snapshot', async () => {
    for (const each of rig.rigs) each.nowMs += 380 * DAY_MS;
    for (let i = 0; i < 6; i++) {
      for (const one of rig.rigs) one.fund(1, 5_000, MOVEMENT.DEPOSIT);
      for (const each of rig.rigs) each.nowMs += 5 * DAY_MS + pick(DAY_MS);
    }
    rig.write();
    rig.project();
    const later = changes();
    for (let round = 0; round < 30; round++) {
      const fromMs = later[pick(later.length)]!.timeMs + pick(2);
      const { opening } = await statementOf(1, { fromMs, toMs: null });
      assert.deepEqual(balancesOf(opening), ownedBefore(later, 1, fromMs));
    }
    rig.snapshot();
    for (const one of rig.rigs) one.fund(1, 6_000, MOVEMENT.DEPOSIT);
    rig.write();
    rig.snapshot();
    rig.project();
    rig.trim();
    assert.ok(
      rig.journals.every(({ firstSequence }) => firstSequence > 1),
      'the journals are trimmed',
    );
    for (const suffix of ['', '-wal', '-shm']) rmSync(rig.readDbPath + suffix, { force: true });
    rig.project();
    const now = changes();
    for (const account of ACCOUNTS) {
      const statement = await statementOf(account, { fromMs: null, toMs: null });
      assert.deepEqual(balancesOf(statement.closing), ownedBefore(now, account, Number.POSITIVE_INFINITY));
      assert.deepEqual(balancesOf(statement.closing), afterEntries(statement));
      assert.equal(statement.entries[0]!.type, 'carried');
    }
  });
});
