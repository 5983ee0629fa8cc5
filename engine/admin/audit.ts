/**
 * `admin audit`: computes every balance again from the journals alone (accounting.ts), and compares them with those of
 * a replay by the engine. The sum of all money is compared with the deposits less the withdrawals, and these with what
 * control.db ordered (reconcile.ts).
 *
 * Each shard balances by itself: money enters or leaves it only by deposits, withdrawals and payouts from its own
 * collateral. So a running exchange can be audited as well, each shard up to the end its journal had.
 */
import type Database from 'better-sqlite3';
import { isDecided, SIDE } from '../../shared/base/codes.ts';
import { kindOutcome, kindSide } from '../../shared/wire/commands.ts';
import type { EventSet, Market } from '../book/market.ts';
import { DOUBLE_SHIFT, SLOT_STATE, WORD_SHIFT } from '../book/orders.ts';
import type { Engine } from '../core/engine.ts';
import { brokenInvariant } from '../core/invariants.ts';
import { located, markPath } from '../journal/file.ts';
import { readMark } from '../journal/mark.ts';
import { JournalReader } from '../journal/reader.ts';
import { Accounting } from './accounting.ts';
import type { Purse, SetBooks } from './books.ts';
import type { ShardFile } from './directory.ts';
import { reconcile } from './reconcile.ts';
import { earliestState, readBatch } from './replica.ts';
import { table } from './table.ts';

const NEXT_STEP =
  'next: `npm run admin -- journal verify` says whether a journal or control.db is damaged, or older than the other; ' +
  'put back the newest one, or restore the data directory from a backup';

/** Differences shown for each shard: the first one usually causes many others. */
const SHOWN_DIFFERENCES = 20;

type Totals = Record<(typeof TOTALS)[number], bigint>;
const TOTALS = [
  'deposited_usdc_micro',
  'withdrawn_usdc_micro',
  'available_usdc_micro',
  'reserved_usdc_micro',
  'collateral_usdc_micro',
  'fees_usdc_micro',
  'fees_token_atomic',
] as const;

type ShardAudit = {
  readonly shard: number;
  /** Records after this one were audited. The opening balances are those of a snapshot, or zero at record 0. */
  readonly from: number;
  readonly to: number;
  readonly accounting: Accounting;
  readonly differences: readonly string[];
};

/** @param control null while the exchange runs: deposits and withdrawals are then not compared with control.db. */
export function auditDirectory(
  files: readonly ShardFile[],
  control: Database.Database | null,
): { readonly text: string; readonly isBalanced: boolean } {
  const audits = files.map((file) => {
    try {
      return auditShard(file);
    } catch (error) {
      // SQLite's own error does not name the file.
      throw located(error, file.journalPath);
    }
  });
  const lines = audits.flatMap(({ shard, from, to }) => [
    `shard ${shard}: records ${from + 1} to ${to}`,
    ...(from === 0
      ? []
      : [`shard ${shard}: the journal was trimmed: balances at ${from} come from a snapshot, fees begin there`]),
  ]);
  lines.push('');
  const totals = sumOf(audits.map(({ accounting }) => totalsOf(accounting)));
  lines.push(...table(TOTALS.map((name) => [name, String(totals[name])])));
  lines.push('', ...overdrawn(audits));
  const differences = audits.flatMap((audit) => audit.differences.map((text) => `shard ${audit.shard}: ${text}`));
  if (control === null) {
    lines.push('deposits and withdrawals were not compared with control.db: the exchange runs, or has none');
  } else {
    const isComplete = audits.every(({ from }) => from === 0);
    const all = audits.map(({ accounting }) => accounting);
    differences.push(...reconcile(control, all, isComplete));
  }
  lines.push(...(differences.length === 0 ? ['balanced'] : [...differences, '', NEXT_STEP]));
  return { text: lines.join('\n'), isBalanced: differences.length === 0 };
}

export function auditShard(file: ShardFile): ShardAudit {
  // This is read first, because a running exchange continues to write.
  const marked = readMark(markPath(file.journalPath), file.shard)?.sequence ?? 0;
  const reader = new JournalReader(file.journalPath, file.key);
  try {
    const { firstSequence, lastSequence } = reader.facts();
    const differences: string[] = [];
    if (marked > lastSequence) {
      differences.push(
        `${file.journalPath} ends with record ${lastSequence}, and its mark says that ${marked} was written`,
      );
    }
    let hidden = 0;
    const accounting = new Accounting((difference) => {
      if (differences.length < SHOWN_DIFFERENCES) differences.push(difference);
      else hidden++;
    });
    const { engine, head } = earliestState(file, firstSequence);
    const from = head.sequence;
    if (from > 0) copyBalances(accounting, engine);
    while (head.sequence < lastSequence) {
      readBatch(reader, head, lastSequence, (row) => {
        engine.replay(row);
        accounting.record(row);
      });
    }
    differences.push(...compareWithEngine(accounting, engine), ...unbalanced(accounting));
    const broken = brokenInvariant(engine.state);
    if (broken !== null) differences.push(`an invariant does not hold: ${broken}`);
    if (hidden > 0) differences.push(`and ${hidden} more`);
    return { shard: file.shard, from, to: lastSequence, accounting, differences };
  } finally {
    reader.close();
  }
}

/** Copies the opening balances for the audit of a trimmed journal. */
function copyBalances(accounting: Accounting, { state }: Engine): void {
  const { markets, orders, totals } = state;
  accounting.deposited = BigInt(totals.depositedMicro);
  accounting.withdrawn = BigInt(totals.withdrawnMicro);
  for (const market of markets.all()) {
    const { collateralMicro, decisionYesPpm, index, isSettling, payoutYesPpm, ticksPerUnit } = market;
    const set = market.set === null ? null : setBooks(accounting, market.set, market);
    accounting.markets.set(index, {
      ticksPerUnit: BigInt(ticksPerUnit),
      collateral: BigInt(collateralMicro),
      payoutYesPpm: BigInt(payoutYesPpm || decisionYesPpm),
      isSettling,
      set,
      isDecided: isDecided(market.status),
      isSettled: market.settledMs > 0,
      tokens: new Map(),
    });
  }
  for (const { own, engine } of purses(accounting, state)) {
    own.available = engine.available;
    own.reserved = engine.reserved;
  }
  for (let slot = 0; slot < orders.capacity; slot++) {
    if (orders.state[slot << WORD_SHIFT] === SLOT_STATE.FREE) continue;
    const kind = orders.kind[slot << WORD_SHIFT];
    const market = orders.market[slot << WORD_SHIFT];
    const filledLots = BigInt(orders.quantityLots[slot << DOUBLE_SHIFT] - orders.remainingLots[slot << DOUBLE_SHIFT]);
    const isBuy = kindSide(kind) === SIDE.BUY;
    accounting.orders.set(slot, {
      account: orders.account[slot << WORD_SHIFT],
      market,
      side: kindSide(kind),
      outcome: kindOutcome(kind),
      limitTicks: BigInt(orders.limitTicks[slot << WORD_SHIFT]),
      feeBps: BigInt(orders.feeBps[slot << WORD_SHIFT]),
      leastNet: 0n, // an order of a snapshot rests
      remainingLots: BigInt(orders.remainingLots[slot << DOUBLE_SHIFT]),
      received: isBuy
        ? filledLots * accounting.market(market).ticksPerUnit
        : BigInt(orders.filledNotionalMicro[slot << DOUBLE_SHIFT]),
    });
  }
}

function setBooks({ sets }: Accounting, { excessMicro, first }: EventSet, { index, setOrdinal }: Market): SetBooks {
  const books = sets.get(first + 1) ?? { markets: [], excess: BigInt(excessMicro) };
  sets.set(first + 1, books);
  books.markets[setOrdinal] = index;
  return books;
}

/** Every purse that the audit or the engine knows, as a pair. */
function* purses(
  accounting: Accounting,
  { ledger }: Engine['state'],
): Generator<{ what: string; own: Purse; engine: Purse }> {
  const accounts = new Set(accounting.usdc.keys());
  for (let account = 0; account < ledger.accountCapacity; account++) {
    if (ledger.netMicro[account] !== 0 || ledger.reservedMicro[account] !== 0) accounts.add(account);
  }
  for (const account of accounts) {
    const isKnown = account < ledger.accountCapacity;
    const available = BigInt(isKnown ? ledger.netMicro[account] : 0);
    const reserved = BigInt(isKnown ? ledger.reservedMicro[account] : 0);
    yield { what: `USDC of account ${account}`, own: accounting.purse(account), engine: { available, reserved } };
  }
  const { positions } = ledger;
  for (let row = 0; row < positions.count; row++)
    accounting.tokens(positions.pairs.accounts[row], positions.pairs.markets[row], 0);
  for (const [market, { tokens }] of accounting.markets) {
    for (const [account, held] of tokens) {
      for (const [outcome, own] of held.entries()) {
        const engine = {
          available: BigInt(ledger.availableTokens(account, market, outcome)),
          reserved: BigInt(ledger.reservedTokens(account, market, outcome)),
        };
        yield { what: `tokens of account ${account} in market ${market}, outcome ${outcome}`, own, engine };
      }
    }
  }
}

function compareWithEngine(accounting: Accounting, { state }: Engine): string[] {
  const differences: string[] = [];
  const same = (what: string, engine: bigint | number, own: bigint): void => {
    if (BigInt(engine) !== own) differences.push(`at the end: ${what}: the engine says ${engine}, the audit ${own}`);
  };
  for (const { what, own, engine } of purses(accounting, state)) {
    same(`${what}, available`, engine.available, own.available);
    same(`${what}, reserved`, engine.reserved, own.reserved);
  }
  for (const { index, collateralMicro } of state.markets.all()) {
    same(`collateral of market ${index}`, collateralMicro, accounting.market(index).collateral);
  }
  for (const { excessMicro, first } of state.markets.sets.all())
    same(`excess of the set of market ${first}`, excessMicro, accounting.sets.get(first + 1)!.excess);
  same('deposits', state.totals.depositedMicro, accounting.deposited);
  same('withdrawals', state.totals.withdrawnMicro, accounting.withdrawn);
  same('number of open orders', state.orders.openCount, BigInt(accounting.orders.size));
  return differences;
}

/** The sum of all money is deposits less withdrawals, and the sum of all reservations is held by the open orders. */
function unbalanced(accounting: Accounting): string[] {
  const totals = totalsOf(accounting);
  const there = totals.available_usdc_micro + totals.reserved_usdc_micro + totals.collateral_usdc_micro;
  const expected = accounting.deposited - accounting.withdrawn;
  let held = 0n;
  for (const { side, remainingLots, limitTicks } of accounting.orders.values()) {
    if (side === SIDE.BUY) held += remainingLots * limitTicks;
  }
  const differences: string[] = [];
  if (there !== expected) differences.push(`${there} micro-USDC are there, deposits less withdrawals are ${expected}`);
  if (held !== totals.reserved_usdc_micro) {
    differences.push(`${totals.reserved_usdc_micro} micro-USDC are reserved, open orders hold ${held}`);
  }
  return differences;
}

function totalsOf(accounting: Accounting): Totals {
  const usdc = [...accounting.usdc.values()];
  const add = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n);
  return {
    deposited_usdc_micro: accounting.deposited,
    withdrawn_usdc_micro: accounting.withdrawn,
    available_usdc_micro: add(usdc.map(({ available }) => available)),
    reserved_usdc_micro: add(usdc.map(({ reserved }) => reserved)),
    collateral_usdc_micro:
      add([...accounting.markets.values()].map(({ collateral }) => collateral)) +
      add([...accounting.sets.values()].map(({ excess }) => excess)),
    fees_usdc_micro: accounting.feesMicro,
    fees_token_atomic: accounting.feesAtomic,
  };
}

function sumOf(all: readonly Totals[]): Totals {
  return Object.fromEntries(
    TOTALS.map((name) => [name, all.reduce((sum, totals) => sum + totals[name], 0n)]),
  ) as Totals;
}

/** An account's USDC is the sum over all shards. It is negative only after a loss, or if collateral is not checked. */
function overdrawn(audits: readonly ShardAudit[]): string[] {
  const available = new Map<number, bigint>();
  for (const { accounting } of audits) {
    for (const [account, purse] of accounting.usdc) {
      available.set(account, (available.get(account) ?? 0n) + purse.available);
    }
  }
  return [...available]
    .filter(([, micro]) => micro < 0n)
    .map(
      ([account, micro]) =>
        `account ${account} is overdrawn by ${-micro} micro-USDC: COLLATERAL_CHECK was off, records were given up, ` +
        'or it traded in another shard while this was read',
    );
}
