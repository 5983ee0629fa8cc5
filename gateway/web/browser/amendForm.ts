/** Changes price and quantity of an open order, and first says how that affects its place in the queue. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { sumToDecimal } from '../../../shared/base/units.ts';
import type { Market, TickSize, UserOrder } from '../../../shared/client/types.ts';
import { changeTextOf, get, useLoaded } from './api.ts';
import { cents, units } from './format.ts';
import { leftAtomic, type Queued } from './openOrders.ts';
import { amend } from './placing.ts';
import { type Preview, preview, stepCents, type Ticket } from './preview.ts';
import { minutesAhead } from './ticketState.ts';
import { ToCome } from './toCome.ts';

type AmendProps = {
  readonly order: UserOrder;
  readonly market: Market;
  readonly queued: Queued | undefined;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
};

const HOUR_MINUTES = 60;
const NO_BOOK = { bids: [], asks: [] };

export function AmendForm(props: AmendProps): VNode {
  const { market } = props;
  const grid = useLoaded<TickSize>(market.id, () => get(`/v1/market-data/${market.id}/tick-size`));
  if (grid.value === null) return html`<${ToCome} error=${grid.error} />`;
  return html`<${OpenForm} ...${props} grid=${grid.value} />`;
}

function OpenForm({ order, market, queued, onDone, onClose, grid }: AmendProps & { readonly grid: TickSize }): VNode {
  const { ticks_per_unit: ticksPerUnit, min_order_size_atomic } = grid;
  const kind = order.time_in_force === 'GTD' ? 'GTD' : 'GTC';
  const [ticket, setTicket] = useState<Ticket>({
    side: order.side,
    kind,
    cents: cents(order.price).slice(0, -1),
    size: sumToDecimal(leftAtomic(order)),
    expiresAt: kind === 'GTD' ? minutesAhead(HOUR_MINUTES) : '',
    isPostOnly: order.post_only,
    budget: '',
    isInTokens: false,
    slippageTicks: 0,
    leastNet: '',
    selfTrade: 'none',
  });
  const [said, say] = useState<{ readonly isError: boolean; readonly text: string } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const minSizeAtomic = Number(min_order_size_atomic);
  const limits = { ticksPerUnit, minSizeAtomic, feeBps: market.fee_bps, freeHoldingAtomic: leftAtomic(order) };
  // Checks only the order's own terms, not which orders it would trade with.
  const shown = preview(ticket, limits, NO_BOOK, Date.now());
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if ('text' in shown || isBusy) return;
    setBusy(true);
    say(null);
    try {
      const { side, isPostOnly, selfTrade } = ticket;
      const { client_order_id, order_group, outcome_index: outcome } = order;
      const names = { client_order_id, order_group };
      const choice = { ...shown, market, outcome, ticksPerUnit, side, isPostOnly, selfTrade, names };
      const answer = await amend(order, choice, () => say({ isError: false, text: 'No answer yet. Asking again …' }));
      onDone(answer.time_priority ? 'Changed. It kept its queue position.' : 'Changed. It is the last at its price.');
    } catch (error) {
      say({ isError: true, text: changeTextOf(error) });
      setBusy(false);
    }
  };
  const change = (changed: Partial<Ticket>): void => setTicket({ ...ticket, ...changed });
  const onArrow = (event: KeyboardEvent): void => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    change({ cents: stepCents(ticket.cents, ticksPerUnit, by) });
  };
  return html`<form class="ticket amend" onSubmit=${onSubmit} aria-label=${`Change the order at ${cents(order.price)}`}
    onKeyDown=${(event: KeyboardEvent) => event.key === 'Escape' && onClose()}>
    <label class="field"><span>New price in cents</span><input ref=${first} inputmode="decimal" autocomplete="off"
      value=${ticket.cents} onInput=${(event: Typed) => change({ cents: typedIn(event) })}
      onKeyDown=${onArrow} /></label>
    <label class="field"><span>Tokens still to be filled</span><input inputmode="decimal" autocomplete="off"
      value=${ticket.size} onInput=${(event: Typed) => change({ size: typedIn(event) })} /></label>
    ${
      kind === 'GTD' &&
      html`<label class="field"><span>Until</span><input type="datetime-local" value=${ticket.expiresAt}
        onInput=${(event: Typed) => change({ expiresAt: typedIn(event) })} /></label>`
    }
    <p class=${'text' in shown ? 'problem' : 'expected'}>${
      'text' in shown ? shown.text : consequence(shown, order, queued, ticksPerUnit)
    }</p>
    <p class="actions"><button type="submit" disabled=${isBusy || 'text' in shown}>${
      isBusy ? 'Signing …' : 'Change it'
    }</button> <button type="button" onClick=${onClose}>Leave it</button></p>
    <p role=${said?.isError === true ? 'alert' : 'status'}>${said?.text ?? ''}</p>
  </form>`;
}

/** RULES.md 7.10: the order keeps its position if the price stays and the quantity left to fill does not grow. */
function consequence(shown: Preview, order: UserOrder, queued: Queued | undefined, ticksPerUnit: number): string {
  const isSamePrice = cents(shown.price) === cents(order.price);
  const keeps = isSamePrice && shown.sizeAtomic <= leftAtomic(order);
  const ahead = queued === undefined ? '' : ` (${units(queued.aheadAtomic)} tokens ahead)`;
  const tied =
    order.side === 'BUY'
      ? `$${units((shown.sizeAtomic / BigInt(ticksPerUnit)) * BigInt(shown.limitTicks))}`
      : `${units(shown.sizeAtomic)} tokens`;
  const place = keeps
    ? `It keeps its queue position${ahead}.`
    : `It goes to the end of the queue at ${cents(shown.price)}: ${isSamePrice ? 'it grows' : 'its price changes'}.`;
  return `${place} It ties up ${tied}.`;
}

type Typed = TargetedEvent<HTMLInputElement>;

function typedIn({ currentTarget }: Typed): string {
  return currentTarget.value;
}
