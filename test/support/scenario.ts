/**
 * A market in drawn form, for scenarios that read like the rule they prove: orders are written "BUY Yes 10 @ 60 FOK" in
 * lots and ticks, the book is drawn best level first with its queues, and money is what moved since the start.
 *
 * Everybody starts with 10^9 micro-USDC and 10^9 atomic tokens of either outcome in each market. A market takes orders
 * from one lot on, so the numbers stay small enough to check by head.
 */

import { DOUBLE_SHIFT, WORD_SHIFT } from '../../engine/book/orders.ts';
import {
  CLOSE_REASON_NAMES,
  FEE_ACCOUNT,
  MATCH_TYPE_NAMES,
  MOVEMENT,
  OUTCOME,
  SELF_TRADE_NAMES,
  SIDE,
  SIDE_NAMES,
  TIME_IN_FORCE_NAMES,
} from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { kindOutcome } from '../../shared/wire/commands.ts';
import { errorKey } from './engine.ts';
import { type CommandResult, EngineRig, type MarketOptions, type PlaceOptions } from './engineRig.ts';
import type { OrderEvent } from './orderEvents.ts';

export const FEES = FEE_ACCOUNT;
export const ALICE = 1;
export const BOB = 2;
export const CAROL = 3;
const NAMES = ['fees', 'alice', 'bob', 'carol'];
const START = 1_000_000_000;

type Levels = { head: Int32Array; bestTick: number; worseThan(tick: number): number };

export class Scenario extends EngineRig {
  /** Hash of the order that was placed last. */
  lastHash: Uint32Array = new Uint32Array(8);
  readonly #ticksPerUnit: number[] = [];

  constructor(options: MarketOptions = {}) {
    super();
    this.open(options);
    for (const account of [ALICE, BOB, CAROL]) this.fund(account, 2 * START);
    this.endow(0);
  }

  /** Opens the next market. @returns its index. */
  open(options: MarketOptions = {}): number {
    const index = this.#ticksPerUnit.length;
    const ticksPerUnit = options.ticksPerUnit ?? 100;
    this.market(index, { minOrderAtomic: ticksPerUnit, ...options });
    this.#ticksPerUnit.push(ticksPerUnit);
    return index;
  }

  /** Gives everybody the tokens of a market to start with. */
  endow(market: number): void {
    for (const account of [ALICE, BOB, CAROL]) this.convert(account, market, START, MOVEMENT.SPLIT);
  }

  /** Places "SIDE Outcome lots @ ticks [time in force] [post-only] [self-trade mode]". @returns the result. */
  order(account: number, text: string, more: PlaceOptions = {}): string[] {
    const [side, outcome, lots, at, ticks, ...rest] = text.split(' ');
    if (at !== '@') throw new Error(`not an order: ${text}`);
    const options: PlaceOptions = {
      account,
      side: indexIn(SIDE_NAMES, side),
      outcome: outcome === 'No' ? OUTCOME.NO : OUTCOME.YES,
      lots: Number(lots),
      ticks: Number(ticks),
      feeBps: this.engine.state.markets.peek(more.market ?? 0)!.feeBps,
    };
    for (const word of rest) {
      if (word === 'post-only') options.postOnly = true;
      else if (word.startsWith('cancel_')) options.selfTrade = indexIn(SELF_TRADE_NAMES, word);
      else options.timeInForce = indexIn(TIME_IN_FORCE_NAMES, word);
    }
    const placed = this.place({ ...options, ...more });
    if (placed.reply.code === OK) this.lastHash = placed.hash;
    return this.tell(placed);
  }

  /** Events and refusal of a command, a line each. */
  tell({ events, reply }: CommandResult): string[] {
    const lines = events.flatMap((event) => this.#line(event) ?? []);
    if (reply.code > OK) lines.push(`refused ${errorKey(reply.code)}`);
    return lines;
  }

  /** Asks and bids, each best first: "ask 62  bob 5 Yes, carol 7 No". An order is shown with its own outcome. */
  drawn(market = 0): string[] {
    const { book } = this.engine.state.markets.peek(market)!;
    return [...this.#side('ask', book.asks), ...this.#side('bid', book.bids)];
  }

  /** The changes of the account since the start: "usdc -600 (reserved 200), yes +995". */
  moved(account: number, market = 0): string {
    const start = account === FEES ? 0 : START;
    const parts = [
      difference('usdc', this.usdc(account), start),
      difference('yes', this.tokens(account, OUTCOME.YES, market), start),
      difference('no', this.tokens(account, OUTCOME.NO, market), start),
    ].filter((part) => part !== '');
    return parts.length === 0 ? 'nothing' : parts.join(', ');
  }

  /** USDC locked in full sets beyond the initial ones. */
  minted(market = 0): number {
    return this.engine.state.markets.peek(market)!.collateralMicro - 3 * START;
  }

  #line(event: OrderEvent): string | undefined {
    switch (event.kind) {
      case 'fill': {
        const { lots, ticks, matchType, makerFee, takerFee } = event;
        const fees = `${this.#who(event.maker)} fee ${makerFee}, ${this.#who(event.taker)} fee ${takerFee}`;
        return `${MATCH_TYPE_NAMES[matchType]} ${lots} @ ${ticks}: ${fees}`;
      }
      case 'closed': {
        const left = event.left > 0 ? ` ${event.left} left` : '';
        return `${this.#who(event.order)} ${CLOSE_REASON_NAMES[event.reason]}${left}`;
      }
      case 'rest':
        return `${this.#who(event.order)} rests ${event.lots}`;
      case 'order':
        return undefined;
      default:
        return `${this.#who(event.order)} ${event.kind}`;
    }
  }

  #who(order: number): string {
    return NAMES[this.accountOf.get(order)!];
  }

  #side(name: string, levels: Levels): string[] {
    const { orders } = this.engine.state;
    const rows: string[] = [];
    for (let tick = levels.bestTick; tick >= 0; tick = levels.worseThan(tick)) {
      const queue: string[] = [];
      for (let slot = levels.head[tick]; slot >= 0; slot = orders.next[slot << WORD_SHIFT]) {
        const outcome = kindOutcome(orders.kind[slot << WORD_SHIFT]) === OUTCOME.YES ? 'Yes' : 'No';
        queue.push(
          `${NAMES[orders.account[slot << WORD_SHIFT]]} ${orders.remainingLots[slot << DOUBLE_SHIFT]} ${outcome}`,
        );
      }
      rows.push(`${name} ${tick}  ${queue.join(', ')}`);
    }
    return rows;
  }
}

/** The order of the other outcome that takes the same place in the book: buying Yes at p is selling No at D - p. */
export function inOtherOutcome(text: string, ticksPerUnit = 100): string {
  const [side, outcome, lots, at, ticks, ...rest] = text.split(' ');
  const otherSide = side === SIDE_NAMES[SIDE.BUY] ? SIDE_NAMES[SIDE.SELL] : SIDE_NAMES[SIDE.BUY];
  return [otherSide, outcome === 'Yes' ? 'No' : 'Yes', lots, at, ticksPerUnit - Number(ticks), ...rest].join(' ');
}

function difference(name: string, held: { available: number; reserved: number }, start: number): string {
  const moved = held.available - start;
  const reserved = held.reserved > 0 ? ` (reserved ${held.reserved})` : '';
  return moved === 0 && reserved === '' ? '' : `${name} ${moved < 0 ? '' : '+'}${moved}${reserved}`;
}

function indexIn(names: readonly string[], name: string | undefined): number {
  const index = names.indexOf(name ?? '');
  if (index < 0) throw new Error(`unknown word in an order: ${name}`);
  return index;
}
