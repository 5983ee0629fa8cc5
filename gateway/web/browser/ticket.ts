/**
 * The order ticket: what an order costs and pays before it is signed, and what became of it. It is the same for
 * visitors without an account, whom its button signs in. On a narrow screen it is a sheet, whose outcomes stay in view.
 *
 * Invariants:
 *   TICKET-1  What is sent is the order of the preview on the screen, once, and only if nothing stands against it.
 *   TICKET-2  A result is of the order as it was sent: the next change takes it away.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { NOT_A_NUMBER, sumToDecimal, tryParsePriceTicks } from '../../../shared/base/units.ts';
import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import type { Side } from '../../../shared/client/sweep.ts';
import type { Balances, Market, TickSize, UserOrder } from '../../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { AmendInTicket, OrderChoice } from './amendInTicket.ts';
import { changeTextOf, get, useLoaded } from './api.ts';
import { asPanel, asRadio, Choices, chooseByKey, Tabs } from './choices.ts';
import { cents, paid, units } from './format.ts';
import { place, prepareToSign } from './placing.ts';
import { type Grid, type Preview, type Problem, preview, spendsBudget, ticksOf, wholeLots } from './preview.ts';
import { Link } from './router.ts';
import { ask, useVisitor } from './session.ts';
import { focusFirst, KEYS_ASKED, useShortcuts } from './shortcuts.ts';
import { SignInDialog } from './signInDialog.ts';
import { TicketCosts } from './ticketCosts.ts';
import { TicketFields } from './ticketFields.ts';
import { type Placed, placedOf } from './ticketResult.ts';
import { type ChangeDraft, type Draft, TABS, useDraft } from './ticketState.ts';
import { ToCome } from './toCome.ts';

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
  readonly onOutcome: (outcome: 0 | 1) => void;
  /** The books of both outcomes. */
  readonly books: readonly [Levels, Levels];
  /** True if the displayed book is the exchange's at this moment. */
  readonly isLive: boolean;
  /** A price chosen in the ladder. */
  readonly chosen: ChosenPrice | null;
  /** The visitor's open orders in this market. */
  readonly own: readonly UserOrder[];
  readonly onReach: (reach: Reach) => void;
  /** An order was sent: the displayed data of the account may have changed. */
  readonly onPlaced: () => void;
};

const BALANCES_SECONDS = 30;
/** The id of what belongs to the chosen kind of order. */
const FIELDS = 'ticket-fields';
const SIDES: readonly (readonly [Side, label: string])[] = [
  ['BUY', 'Buy'],
  ['SELL', 'Sell'],
];

/** Orders at the market take their price from the book. */
const OUT_OF_DATE: Problem = { field: 'budget', text: 'The book is out of date: no price can be taken from it.' };

type Result = Placed | { readonly error: string } | { readonly note: string };

export function TicketPanel(props: TicketProps): VNode {
  const { market } = props;
  // A button of another view that names an outcome leads to its order.
  const [isOpen, setOpen] = useState(() => new URLSearchParams(location.search).has('outcome'));
  const grid = useLoaded<TickSize>(market.id, () => get(`/v1/market-data/${market.id}/tick-size`));
  const closed = closedText(market);
  const { ticks_per_unit, min_order_size_atomic } = grid.value ?? {};
  const content =
    closed !== null || grid.value === null
      ? html`<${ToCome} error=${closed ?? grid.error} lines=${6} />`
      : html`<${OpenTicket} ...${props} ticksPerUnit=${ticks_per_unit} minSizeAtomic=${Number(min_order_size_atomic)}
          onOutcome=${(outcome: 0 | 1) => {
            setOpen(true);
            props.onOutcome(outcome);
          }} />`;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') setOpen(false);
  };
  // A link out of the sheet leads to what is behind it.
  const onClick = ({ target }: MouseEvent): void => {
    if (target instanceof HTMLAnchorElement) setOpen(false);
  };
  return html`<div class="column ticket-column" data-open=${isOpen} onKeyDown=${onKey} onClick=${onClick}>
    <section class="panel" aria-labelledby="ticket">
      <div class="sheet-head"><h2 id="ticket">Order</h2>
        <button type="button" class="small keys-button" onClick=${() => dispatchEvent(new Event(KEYS_ASKED))}
          title="Alt+K">Keys</button>
        <button type="button" class="small sheet-close" onClick=${() => setOpen(false)}>Close</button></div>
      ${content}</section></div>`;
}

function closedText({ status, stage }: Market): string | null {
  if (status !== 'active') return `No orders are accepted: the market is ${status}.`;
  if (stage !== 'cancel_only') return null;
  return 'No orders are accepted now: after a halt the market takes cancels alone.';
}

type OpenTicketProps = TicketProps & { readonly ticksPerUnit: number; readonly minSizeAtomic: number };

function OpenTicket(props: OpenTicketProps): VNode {
  const { market, outcome, books, isLive, ticksPerUnit, minSizeAtomic } = props;
  const visitor = useVisitor();
  const levels = books[outcome];
  const [draft, change] = useDraft(market.id, outcome, levels, ticksPerUnit);
  const [isAsked, setAsked] = useState(false);
  const [round, setRound] = useState(0);
  const { available, freeHoldingAtomic } = useFunds(market.id, outcome, draft.side, round);
  const form = useRef<HTMLFormElement>(null);
  const grid = useMemo(
    () => ({ ticksPerUnit, minSizeAtomic, feeBps: market.fee_bps, freeHoldingAtomic }),
    [ticksPerUnit, minSizeAtomic, market.fee_bps, freeHoldingAtomic],
  );
  const previewed = preview(draft, grid, levels, Date.now());
  const shown = isLive || draft.tab !== 'market' ? previewed : OUT_OF_DATE;
  const order = 'text' in shown ? null : shown;
  const problem = 'text' in shown ? shown : null;
  const obstacle = order === null ? null : obstacleOf(order, draft.side, available, isLive);
  const onSent = (): void => {
    setRound(round + 1);
    props.onPlaced();
  };
  const { result, isBusy, send, say } = useSending(onSent);
  const [amended, setAmended] = useState('');
  const edit: ChangeDraft = (changed) => {
    say(null);
    setAmended('');
    change(changed);
  };
  // A price of the other outcome would be another order.
  const chooseOutcome = (chosen: 0 | 1): void => {
    edit({ isPriceChosen: false });
    props.onOutcome(chosen);
  };
  useChosen(props.chosen, form, (price) =>
    edit({ cents: price, isPriceChosen: true, tab: draft.tab === 'market' ? 'limit' : draft.tab }),
  );
  useTicketKeys(edit, chooseOutcome);
  useReach(shown, draft.side, ticksPerUnit, props.onReach);
  const isUser = visitor.kind === 'user';
  useEffect(() => {
    if (isUser) prepareToSign();
  }, [isUser]);
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (visitor.kind === 'anonymous') setAsked(true);
    else if (isUser && order !== null && obstacle === null) void send(order, draft, props);
  };
  const isMaker = draft.tab === 'maker';
  const waiting = isMaker ? props.own.find(({ order_hash }) => order_hash === amended) : undefined;
  const choice =
    isMaker &&
    html`<${OrderChoice} market=${market} orders=${props.own} chosen=${amended}
      onChoose=${(hash: string) => {
        say(null);
        setAmended(hash);
      }} />`;
  const heads = html`<${Outcomes} ...${props} side=${draft.side} onOutcome=${chooseOutcome} />
    <${Modes} draft=${draft} onChange=${edit} />
    ${choice}`;
  if (waiting !== undefined) {
    const onAmended = (text: string): void => {
      setAmended('');
      say({ note: text });
      onSent();
    };
    return html`<div class="ticket">${heads}</div>
      <div ...${asPanel(FIELDS, draft.tab)}>
        <${AmendInTicket} market=${market} order=${waiting} yes=${books[0]} onDone=${onAmended}
          onClose=${() => setAmended('')} />
      </div>`;
  }
  const names = { outcome: market.outcomes[outcome], other: market.outcomes[1 - outcome] };
  const verb = draft.side === 'BUY' ? 'Buy' : 'Sell';
  return html`<form class="ticket" ref=${form} onSubmit=${onSubmit} onKeyDown=${oncePressed}>
    ${heads}
    <div class="tab-fields" ...${asPanel(FIELDS, draft.tab)}>
      <${TicketFields} draft=${draft} ticksPerUnit=${ticksPerUnit} problem=${problem} onChange=${edit}
        onShare=${available === null ? null : (divisor: bigint) => edit(partOf(available / divisor, draft, grid))} />
    </div>
    ${
      order !== null &&
      html`<${TicketCosts} preview=${order} isLive=${isLive} side=${draft.side} grid=${grid} ...${names}
        aheadAtomic=${isMaker ? aheadOf(order, draft.side, levels, ticksPerUnit) : null} />`
    }
    ${available !== null && html`<p class="quiet">Available: ${amountText(draft.side, available)}</p>`}
    <p id="ticket-obstacle" class="problem">${obstacle ?? (visitor.kind === 'unknown' ? 'Signing in …' : '')}</p>
    <button type="submit" class=${draft.side === 'BUY' ? 'buy' : 'sell'}
      aria-describedby="ticket-problem ticket-obstacle"
      disabled=${visitor.kind !== 'anonymous' && (!isUser || isBusy || order === null || obstacle !== null)}>
      ${isBusy ? 'Signing …' : `${isUser ? verb : `Sign in to ${verb.toLowerCase()}`} ${names.outcome}`}
    </button>
    <${Said} result=${result} />
    <${SignInDialog} isAsked=${isAsked} onDone=${() => {
      setAsked(false);
      form.current?.querySelector<HTMLElement>('[type=submit]')?.focus();
    }} />
  </form>`;
}

type Sending = {
  readonly result: Result | null;
  readonly isBusy: boolean;
  readonly send: (order: Preview, draft: Draft, of: OpenTicketProps) => Promise<void>;
  readonly say: (result: Result | null) => void;
};

/** TICKET-1, TICKET-2. */
function useSending(onSent: () => void): Sending {
  const [result, setResult] = useState<Result | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isSending = useRef(false);
  const send: Sending['send'] = async (order, { side, selfTrade, isPostOnly }, { market, outcome, ticksPerUnit }) => {
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    setResult(null);
    try {
      const choice = { ...order, market, outcome, ticksPerUnit, side, selfTrade, isPostOnly };
      const answer = await place(choice, () => setResult({ note: 'No answer yet. Asking again …' }));
      const name = market.outcomes[outcome];
      setResult(placedOf(answer, { side, outcome: name, feeBps: market.fee_bps, preview: order }));
    } catch (error) {
      setResult({ error: changeTextOf(error) });
    }
    onSent();
    isSending.current = false;
    setBusy(false);
  };
  return { result, isBusy, send, say: setResult };
}

function Said({ result }: { readonly result: Result | null }): VNode {
  if (result === null) return html`<p role="status"></p>`;
  if ('error' in result) return html`<p role="alert" class="problem">${result.error}</p>`;
  if ('note' in result) return html`<p role="status">${result.note}</p>`;
  return html`<p role="status" class="expected">${result.text}
    ${result.isHeld && html`${' '}<${Link} to="/portfolio">See your portfolio</${Link}>`}
    ${result.isWaiting && html`${' '}<a href="#own-orders">See your orders here</a>`}</p>`;
}

type OutcomesProps = TicketProps & { readonly side: Side };

/** Each outcome with the price at which it can be bought or sold now. */
function Outcomes({ market, books, outcome, side, onOutcome }: OutcomesProps): VNode {
  const choices = market.outcomes.map((label, index) => {
    const best = (side === 'BUY' ? books[index as 0 | 1].asks : books[index as 0 | 1].bids).at(0);
    return html`<button key=${label} type="button" class=${index === 0 ? 'buy' : 'sell'}
      ...${asRadio(outcome === index)} onClick=${() => onOutcome(index as 0 | 1)}>
      <span>${side === 'BUY' ? 'Buy' : 'Sell'} <bdi>${label}</bdi></span>${' '}
      <span class="best">${best === undefined ? '–' : cents(best.price)}</span></button>`;
  });
  return html`<div class="outcomes" role="radiogroup" aria-label="Outcome" onKeyDown=${chooseByKey}>${choices}</div>`;
}

type ModesProps = { readonly draft: Draft; readonly onChange: ChangeDraft };

function Modes({ draft, onChange }: ModesProps): VNode {
  return html`<div class="modes">
    <${Tabs} look="small" label="Kind of order" panel=${FIELDS} chosen=${draft.tab} choices=${TABS}
      onChoose=${(tab: Draft['tab']) => onChange({ tab })} />
    <${Choices} look="small" label="Side" chosen=${draft.side} choices=${SIDES}
      onChoose=${(side: Side) => onChange({ side })} /></div>`;
}

/** Funds for the order, and the tokens of the outcome if none of them are reserved; null until they are known. */
type OwnFunds = { readonly available: bigint | null; readonly freeHoldingAtomic: bigint | null };

function useFunds(marketId: string, outcome: 0 | 1, side: Side, round: number): OwnFunds {
  const visitor = useVisitor();
  const who = visitor.kind === 'user' ? visitor.user.id : '';
  const load = async (): Promise<Balances | null> => (who === '' ? null : ask('GET', '/v1/user/balances'));
  // Loads again after each order and each event of the account, and now and then for changes without an event.
  const { value: balances } = useLoaded(`balances ${who}`, load, BALANCES_SECONDS, round + useAccountChanges());
  if (balances === null) return { available: null, freeHoldingAtomic: null };
  const held = balances.tokens.find((row) => row.market_id === marketId && row.outcome_index === outcome);
  const isFree = held !== undefined && held.reserved === '0';
  const available = BigInt(side === 'BUY' ? balances.usdc.available : (held?.available ?? '0'));
  return { available, freeHoldingAtomic: isFree ? BigInt(held.available) : null };
}

function amountText(side: Side, atomic: bigint): string {
  return side === 'BUY' ? `$${units(atomic)}` : `${units(atomic)} tokens`;
}

/** Why the exchange would refuse the order as things are; null if nothing stands against it. */
function obstacleOf(order: Preview, side: Side, available: bigint | null, isLive: boolean): string | null {
  const needed = side === 'BUY' ? order.notionalMicro : order.sizeAtomic;
  if (available !== null && needed > available) {
    const text = side === 'BUY' ? paid(needed) : amountText(side, needed);
    return `It needs ${text}, and you have ${amountText(side, available)}.`;
  }
  return isLive ? order.warning : null;
}

/** The tokens that wait at the price of the order already. */
function aheadOf(order: Preview, side: Side, { bids, asks }: Levels, ticksPerUnit: number): bigint {
  const own = side === 'BUY' ? bids : asks;
  const level = own.find(({ price }) => tryParsePriceTicks(price, ticksPerUnit) === order.limitTicks);
  return BigInt(level?.token_quantity_atomic ?? '0');
}

type Form = { readonly current: HTMLFormElement | null };

function useChosen(chosen: ChosenPrice | null, form: Form, choose: (cents: string) => void): void {
  useEffect(() => {
    if (chosen === null) return;
    choose(chosen.cents);
    if (chosen.movesFocus) form.current?.querySelector<HTMLElement>('#ticket-amount')?.focus();
  }, [chosen]);
}

/** TICKET-1: a key that is held down sends one order. */
function oncePressed(event: KeyboardEvent): void {
  if (event.key === 'Enter' && event.repeat) event.preventDefault();
}

/** The keys of the ticket. */
function useTicketKeys(edit: ChangeDraft, onOutcome: (outcome: 0 | 1) => void): void {
  const draftOf = (changed: Partial<Draft>) => (): void => {
    edit(changed);
    // The fields of another tab are there with the next drawing.
    setTimeout(() => focusFirst('#ticket-price', '#ticket-amount'));
  };
  useShortcuts({
    B: draftOf({ side: 'BUY' }),
    S: draftOf({ side: 'SELL' }),
    M: draftOf({ tab: 'market' }),
    L: draftOf({ tab: 'limit' }),
    P: draftOf({ tab: 'maker' }),
    Y: () => onOutcome(0),
    N: () => onOutcome(1),
    A: () => focusFirst('#ticket-amount'),
    G: () => focusFirst('.ladder button[tabindex="0"]'),
    O: () => focusFirst('.orders button', '[aria-labelledby="own-orders"] input'),
  });
}

function useReach(shown: Preview | Problem, side: Side, ticksPerUnit: number, onReach: (reach: Reach) => void): void {
  const lastTicks = 'text' in shown ? null : shown.taken.lastTicks;
  useEffect(() => onReach(lastTicks === null ? null : { side, lastTicks, ticksPerUnit }), [lastTicks, side]);
  useEffect(() => () => onReach(null), []);
}

/** The draft for this much of what is available, in whole lots at the typed price. */
function partOf(part: bigint, draft: Draft, { ticksPerUnit }: Grid): Partial<Draft> {
  if (spendsBudget(draft)) return { budget: sumToDecimal(part) };
  const lot = BigInt(ticksPerUnit);
  if (draft.side === 'SELL') return { size: sumToDecimal(wholeLots(part, ticksPerUnit)) };
  // A buyer at the market who says tokens has no price to divide by: the same money, said as money.
  if (draft.tab === 'market') return { budget: sumToDecimal(part), isInTokens: false };
  const ticks = ticksOf(draft.cents, ticksPerUnit);
  return ticks === NOT_A_NUMBER ? {} : { size: sumToDecimal((part / BigInt(ticks)) * lot) };
}
