/**
 * `admin audit`: every balance once more, from the journals alone (accounting.ts), compared with what the engine's own
 * replay comes to, and the sum of everything with what was deposited less what was withdrawn.
 *
 * Each shard is closed in itself: whatever enters or leaves it is a deposit, a withdrawal or a payout from its own
 * collateral. So a running exchange can be audited too, every shard up to where its journal was.
 */
import { SIDE } from '../../shared/codes.ts';
import { kindOutcome, kindSide } from '../../shared/commands.ts';
import type { Engine } from '../engine.ts';
import { JournalReader } from '../journalReader.ts';
import { NUMBERS, PLACE_OF, WORDS } from '../orders.ts';
import { Accounting, type Purse } from './accounting.ts';
import type { ShardFile } from './directory.ts';
import { earliestState, readBatch } from './replica.ts';

/** Of one shard: a first difference tends to have many followers. */
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

export type ShardAudit = {
  readonly shard: number;
  /** Records behind this one were added up; the balances at it are those of a snapshot, or nothing at 0. */
  readonly from: number;
  readonly to: number;
  readonly accounting: Accounting;
  readonly differences: readonly string[];
};

export function auditDirectory(files: readonly ShardFile[]): { readonly text: string; readonly isBalanced: boolean } {
  const audits = files.map(auditShard);
  const lines = audits.flatMap(({ shard, from, to }) => [
    `shard ${shard}: records ${from + 1} to ${to}`,
    ...(from === 0
      ? []
      : [`shard ${shard}: the journal was trimmed, balances at ${from} are a snapshot's, fees begin there`]),
  ]);
  lines.push('');
  const totals = sumOf(audits.map(({ accounting }) => totalsOf(accounting)));
  const width = Math.max(...TOTALS.map((name) => name.length));
  for (const name of TOTALS) lines.push(`${name.padEnd(width)}  ${totals[name]}`);
  lines.push('', ...overdrawn(audits));
  const differences = audits.flatMap((audit) => audit.differences.map((text) => `shard ${audit.shard}: ${text}`));
  lines.push(...(differences.length === 0 ? ['balanced'] : differences));
  return { text: lines.join('\n'), isBalanced: differences.length === 0 };
}

export function auditShard(file: ShardFile): ShardAudit {
  const reader = new JournalReader(file.journalPath);
  try {
    const { firstSequence, lastSequence } = reader.facts();
    const differences: string[] = [];
    let hidden = 0;
    const accounting = new Accounting((difference) => {
      if (differences.length < SHOWN_DIFFERENCES) differences.push(difference);
      else hidden++;
    });
    const { engine, head } = earliestState(file, firstSequence);
    const from = head.sequence;
    if (from > 0) takeOver(accounting, engine);
    while (head.sequence < lastSequence) {
      readBatch(reader, head, lastSequence, (at, timeMs, words, command, _commandBytes, event, eventBytes) => {
        engine.replay(at, timeMs, words, command, event, eventBytes);
        accounting.record(at, words, command, event, eventBytes);
      });
    }
    differences.push(...compareWithEngine(accounting, engine), ...unbalanced(accounting));
    if (hidden > 0) differences.push(`and ${hidden} more`);
    return { shard: file.shard, from, to: lastSequence, accounting, differences };
  } finally {
    reader.close();
  }
}

/** The opening balances of an audit that cannot begin at the beginning. */
function takeOver(accounting: Accounting, { state }: Engine): void {
  const { markets, orders, totals } = state;
  accounting.deposited = BigInt(totals.depositedMicro);
  accounting.withdrawn = BigInt(totals.withdrawnMicro);
  for (const { index, ticksPerUnit, collateralMicro, payoutYesPpm } of markets.all()) {
    accounting.markets.set(index, {
      ticksPerUnit: BigInt(ticksPerUnit),
      collateral: BigInt(collateralMicro),
      payoutYesPpm: BigInt(payoutYesPpm),
      tokens: new Map(),
    });
  }
  for (const { own, engine } of purses(accounting, state)) {
    own.available = engine.available;
    own.reserved = engine.reserved;
  }
  for (let slot = 0; slot < orders.capacity; slot++) {
    if (orders.place[slot << WORDS] === PLACE_OF.FREE) continue;
    const kind = orders.kind[slot << WORDS]!;
    const market = orders.market[slot << WORDS]!;
    const filledLots = BigInt(orders.quantityLots[slot << NUMBERS]! - orders.remainingLots[slot << NUMBERS]!);
    const isBuy = kindSide(kind) === SIDE.BUY;
    accounting.orders.set(slot, {
      account: orders.account[slot << WORDS]!,
      market,
      side: kindSide(kind),
      outcome: kindOutcome(kind),
      limitTicks: BigInt(orders.limitTicks[slot << WORDS]!),
      feeBps: BigInt(orders.feeBps[slot << WORDS]!),
      remainingLots: BigInt(orders.remainingLots[slot << NUMBERS]!),
      received: isBuy
        ? filledLots * accounting.market(market).ticksPerUnit
        : BigInt(orders.filledNotionalMicro[slot << NUMBERS]!),
    });
  }
}

/** Every purse that the audit or the engine knows, beside the other's. */
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
    const available = BigInt(isKnown ? ledger.netMicro[account]! : 0);
    const reserved = BigInt(isKnown ? ledger.reservedMicro[account]! : 0);
    yield { what: `USDC of account ${account}`, own: accounting.purse(account), engine: { available, reserved } };
  }
  const { positions } = ledger;
  for (let row = 0; row < positions.count; row++) accounting.tokens(positions.account[row]!, positions.market[row]!, 0);
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
  same('deposits', state.totals.depositedMicro, accounting.deposited);
  same('withdrawals', state.totals.withdrawnMicro, accounting.withdrawn);
  same('number of open orders', state.orders.openCount, BigInt(accounting.orders.size));
  return differences;
}

/** What is there is what came in less what went out; what is reserved is what the open orders hold. */
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
    collateral_usdc_micro: add([...accounting.markets.values()].map(({ collateral }) => collateral)),
    fees_usdc_micro: accounting.feesMicro,
    fees_token_atomic: accounting.feesAtomic,
  };
}

function sumOf(all: readonly Totals[]): Totals {
  return Object.fromEntries(
    TOTALS.map((name) => [name, all.reduce((sum, totals) => sum + totals[name], 0n)]),
  ) as Totals;
}

/** One account's USDC is the sum over shards. Less than nothing is only there after a loss, or in a rehearsal. */
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
