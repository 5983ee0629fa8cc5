/**
 * The order ticket: before an order is signed it shows the order's cost and gain, and its effect on the present book.
 * The keyboard alone is enough: Enter sends, the arrow keys change price and size.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { NOT_A_NUMBER, sumToDecimal } from '../../../shared/base/units.ts';
import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import type { Side } from '../../../shared/client/sweep.ts';
import type { Balances, Market, PlacementResponse, TickSize } from '../../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { changeTextOf, get, useLoaded } from './api.ts';
import { units } from './format.ts';
import { place } from './placing.ts';
import { type Grid, type Preview, type Problem, preview, type Ticket, ticksOf, wholeLots } from './preview.ts';
import { ask, useVisitor } from './session.ts';
import { TicketCosts } from './ticketCosts.ts';
import { minutesAhead, TicketFields } from './ticketFields.ts';

/** Each choice is a new object, so that choosing the same price again counts. */
export type ChosenPrice = {
  readonly cents: string;
  /** True if the price was chosen by keyboard, which then goes on in the ticket. */
  readonly movesFocus?: boolean;
};

/** The levels that the order would reach, for the ladder. */
export type Reach = { readonly side: Side; readonly lastTicks: number; readonly ticksPerUnit: number } | null;

type TicketProps = {
  readonly market: Market;
  readonly outcome: 0 | 1;
  /** The book of that outcome. */
  readonly levels: Levels;
  /** True if the displayed book is the exchange's at this moment. */
  readonly isLive: boolean;
  /** A price chosen in the ladder. */
  readonly chosen: ChosenPrice | null;
  readonly onReach: (reach: Reach) => void;
  /** An order was sent: the displayed data of the account may have changed. */
  readonly onPlaced: () => void;
};

const BALANCES_SECONDS = 30;
const HOUR_MINUTES = 60;
const START: Ticket = {
  side: 'BUY',
  kind: 'GTC',
  cents: '50',
  size: '10',
  budget: '10',
  slippageTicks: 1,
  expiresAt: '',
  isPostOnly: false,
  leastNet: '',
  selfTrade: 'none',
};

/** Orders at the market take their price from the book. */
const OUT_OF_DATE: Problem = {
  field: 'budget',
  text: 'The book is out of date: no price can be taken from it.',
};

type Result = { readonly isError: boolean; readonly text: string };

export function TicketPanel(props: TicketProps): VNode {
  const visitor = useVisitor();
  const { market } = props;
  const grid = useLoaded<TickSize>(market.id, () => get(`/v1/market-data/${market.id}/tick-size`));
  if (visitor.kind !== 'user') return html`<p class="quiet">Sign in above to trade.</p>`;
  if (market.status !== 'active')
    return html`<p class="quiet">No orders are accepted: the market is ${market.status}.</p>`;
  if (market.stage === 'cancel_only')
    return html`<p class="quiet">No orders are accepted now: after a halt the market takes cancels alone.</p>`;
  if (grid.value === null) return html`<p class="quiet">${grid.error ?? 'Loading …'}</p>`;
  const { ticks_per_unit, min_order_size_atomic } = grid.value;
  return html`<${OpenTicket} ...${props} ticksPerUnit=${ticks_per_unit}
    minSizeAtomic=${Number(min_order_size_atomic)} />`;
}

type OpenTicketProps = TicketProps & { readonly ticksPerUnit: number; readonly minSizeAtomic: number };

function OpenTicket(props: OpenTicketProps): VNode {
  const { market, outcome, levels, isLive, onPlaced, ticksPerUnit, minSizeAtomic } = props;
  const [ticket, setTicket] = useState(START);
  const [result, setResult] = useState<Result | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [round, setRound] = useState(0);
  const { available, freeHoldingAtomic } = useFunds(market.id, outcome, ticket.side, round);
  const form = useRef<HTMLFormElement>(null);
  const grid = useMemo(
    () => ({ ticksPerUnit, minSizeAtomic, feeBps: market.fee_bps, freeHoldingAtomic }),
    [ticksPerUnit, minSizeAtomic, market.fee_bps, freeHoldingAtomic],
  );
  const change = (changed: Partial<Ticket>): void => setTicket((before) => withDefaults({ ...before, ...changed }));
  const previewed = preview(ticket, grid, levels, Date.now());
  const shown = isLive || ticket.kind !== 'MARKET' ? previewed : OUT_OF_DATE;
  useChosen(props.chosen, form, (cents) => change({ cents, kind: ticket.kind === 'MARKET' ? 'GTC' : ticket.kind }));
  useSideKeys(form, change);
  useReach(shown, ticket.side, ticksPerUnit, props.onReach);
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if ('text' in shown || isBusy) return;
    setBusy(true);
    setResult(null);
    const onUnanswered = (): void => setResult({ isError: false, text: 'No answer yet. Asking again …' });
    try {
      const { isPostOnly, selfTrade, side } = ticket;
      const isResting = shown.timeInForce === 'GTC' || shown.timeInForce === 'GTD';
      const choice = { ...shown, market, outcome, ticksPerUnit, side, selfTrade, isPostOnly: isResting && isPostOnly };
      setResult({ isError: false, text: describe(await place(choice, onUnanswered), shown.sizeAtomic) });
    } catch (error) {
      setResult({ isError: true, text: changeTextOf(error) });
    }
    setRound(round + 1);
    onPlaced();
    setBusy(false);
  };
  return html`<form class="ticket" ref=${form} onSubmit=${onSubmit}>
    <${Sides} side=${ticket.side} name=${market.outcomes[outcome]} onChange=${(side: Side) => change({ side })} />
    <${TicketFields} ticket=${ticket} ticksPerUnit=${ticksPerUnit} problem=${'text' in shown ? shown : null}
      onChange=${change} onShare=${(divisor: bigint) => change(partOf(available, divisor, ticket, grid))} />
    ${
      !('text' in shown) &&
      html`<${TicketCosts} preview=${shown} isLive=${isLive} side=${ticket.side} grid=${grid}
        outcome=${market.outcomes[outcome]}
        other=${market.outcomes[1 - outcome]} />`
    }
    <${Funds} available=${available} side=${ticket.side} preview=${'text' in shown ? null : shown} />
    <button type="submit" class=${ticket.side === 'BUY' ? 'buy' : 'sell'} disabled=${isBusy || 'text' in shown}>
      ${isBusy ? 'Signing …' : `${ticket.side === 'BUY' ? 'Buy' : 'Sell'} ${market.outcomes[outcome]}`}</button>
    <p role=${result?.isError === true ? 'alert' : 'status'}>${result?.text ?? ''}</p>
  </form>`;
}

type SidesProps = { readonly side: Side; readonly name: string; readonly onChange: (side: Side) => void };

function Sides({ side, name, onChange }: SidesProps): VNode {
  return html`<div class="sides" role="group" aria-label="Side">${(['BUY', 'SELL'] as const).map(
    (each) => html`<button key=${each} type="button" class=${each === 'BUY' ? 'buy' : 'sell'}
      aria-pressed=${side === each}
      onClick=${() => onChange(each)}>${each === 'BUY' ? 'Buy' : 'Sell'} ${name}</button>`,
  )}</div>`;
}

/** Null until it is known. */
/** Funds for the order, and the tokens of the outcome if none of them are reserved; null until they are known. */
type OwnFunds = { readonly available: bigint | null; readonly freeHoldingAtomic: bigint | null };

function useFunds(marketId: string, outcome: 0 | 1, side: Side, round: number): OwnFunds {
  const load = (): Promise<Balances> => ask('GET', '/v1/user/balances');
  // Loads again after each order and each event of the account, and now and then for changes without an event.
  const { value: balances } = useLoaded('balances', load, BALANCES_SECONDS, round + useAccountChanges());
  if (balances === null) return { available: null, freeHoldingAtomic: null };
  const held = balances.tokens.find((row) => row.market_id === marketId && row.outcome_index === outcome);
  const isFree = held !== undefined && held.reserved === '0';
  const available = BigInt(side === 'BUY' ? balances.usdc.available : (held?.available ?? '0'));
  return { available, freeHoldingAtomic: isFree ? BigInt(held.available) : null };
}

type FundsProps = { readonly available: bigint | null; readonly side: Side; readonly preview: Preview | null };

/** This problem does not stop the order: funds may have arrived that the page does not know of yet. */
function Funds({ available, side, preview: shown }: FundsProps): VNode | null {
  if (available === null) return null;
  const amount = (atomic: bigint): string => (side === 'BUY' ? `$${units(atomic)}` : `${units(atomic)} tokens`);
  const needed = shown === null ? 0n : side === 'BUY' ? shown.notionalMicro : shown.sizeAtomic;
  return html`<p class="quiet">Available: ${amount(available)}</p>
    ${needed > available && html`<p class="warning">It needs ${amount(needed)}, more than is available.</p>`}`;
}

type Form = { readonly current: HTMLFormElement | null };

function useChosen(chosen: ChosenPrice | null, form: Form, choose: (cents: string) => void): void {
  useEffect(() => {
    if (chosen === null) return;
    choose(chosen.cents);
    if (chosen.movesFocus) fieldOf(form.current, 'size')?.focus();
  }, [chosen]);
}

type Change = (changed: Partial<Ticket>) => void;

/** Alt and a letter, so that a single key does nothing outside of a field. */
function useSideKeys(form: Form, change: Change): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const side = { KeyB: 'BUY', KeyS: 'SELL' }[event.code] as Side | undefined;
      if (!event.altKey || event.ctrlKey || event.metaKey || side === undefined) return;
      event.preventDefault();
      change({ side });
      (fieldOf(form.current, 'price') ?? fieldOf(form.current, 'budget') ?? fieldOf(form.current, 'size'))?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function fieldOf(form: HTMLFormElement | null, name: string): HTMLInputElement | null {
  return form?.querySelector(`[name="${name}"]`) ?? null;
}

function useReach(shown: Preview | Problem, side: Side, ticksPerUnit: number, onReach: (reach: Reach) => void): void {
  const lastTicks = 'text' in shown ? null : shown.taken.lastTicks;
  useEffect(() => onReach(lastTicks === null ? null : { side, lastTicks, ticksPerUnit }), [lastTicks, side]);
  useEffect(() => () => onReach(null), []);
}

/** The time of a GTD order starts at one hour. */
function withDefaults(ticket: Ticket): Ticket {
  return ticket.kind === 'GTD' && ticket.expiresAt === ''
    ? { ...ticket, expiresAt: minutesAhead(HOUR_MINUTES) }
    : ticket;
}

/** Returns a part of the available amount, in whole lots at the typed price. */
function partOf(available: bigint | null, divisor: bigint, ticket: Ticket, { ticksPerUnit }: Grid): Partial<Ticket> {
  if (available === null) return {};
  const part = available / divisor;
  if (ticket.side === 'BUY' && ticket.kind === 'MARKET') return { budget: sumToDecimal(part) };
  const lot = BigInt(ticksPerUnit);
  if (ticket.side === 'SELL') return { size: sumToDecimal(wholeLots(part, ticksPerUnit)) };
  const ticks = ticksOf(ticket.cents, ticksPerUnit);
  return ticks === NOT_A_NUMBER ? {} : { size: sumToDecimal((part / BigInt(ticks)) * lot) };
}

function describe({ fills, remaining_status: rest }: PlacementResponse, sizeAtomic: bigint): string {
  if (rest === 'none') return 'Filled.';
  const filled = fills.reduce((sum, fill) => sum + BigInt(fill.token_quantity_atomic), 0n);
  if (rest === 'open')
    return filled === 0n ? 'Placed.' : `Filled in part; ${units(sizeAtomic - filled)} tokens are in the book.`;
  return filled > 0n ? 'Filled in part; the rest was cancelled.' : 'Nothing was filled, and nothing is left.';
}
