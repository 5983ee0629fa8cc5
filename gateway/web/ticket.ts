/** The order ticket: what it will cost and bring is shown before it is signed. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Balances, Market, PlacementResponse, TickSize } from '../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { get, textOf, useLoaded } from './api.ts';
import { units } from './format.ts';
import { KINDS, type Kind, place } from './placing.ts';
import { type Preview, preview, type Ticket } from './preview.ts';
import { ask, useVisitor } from './session.ts';

export type ChosenPrice = { readonly cents: string };

type TicketProps = {
  readonly market: Market;
  readonly outcome: 0 | 1;
  /** A price that was chosen in the ladder; an object of its own for each choice, so that each one counts. */
  readonly chosen: ChosenPrice;
  /** An order was sent: what is shown of the account may have changed. */
  readonly onPlaced: () => void;
};

const BALANCES_SECONDS = 30;

type Result = { readonly isError: boolean; readonly text: string };

export function TicketPanel({ market, outcome, chosen, onPlaced }: TicketProps): VNode {
  const visitor = useVisitor();
  const [side, setSide] = useState<Ticket['side']>('BUY');
  const [price, setPrice] = useState(chosen.cents);
  const [size, setSize] = useState('10');
  const [kind, setKind] = useState<Kind>('GTC');
  const [result, setResult] = useState<Result | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => setPrice(chosen.cents), [chosen]);
  const grid = useLoaded<TickSize>(market.id, () => get(`/v1/market-data/${market.id}/tick-size`));
  const ticksPerUnit = grid.value?.ticks_per_unit;
  const shown =
    ticksPerUnit === undefined
      ? 'Loading …'
      : preview({ side, outcome, cents: price, size }, ticksPerUnit, market.fee_bps);
  const onSubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (typeof shown === 'string' || ticksPerUnit === undefined || isBusy) return;
    setBusy(true);
    setResult(null);
    try {
      const answer = await place({ market, outcome, side, kind, ticksPerUnit, price: shown.price, size: size.trim() });
      setResult({ isError: false, text: describe(answer) });
    } catch (error) {
      setResult({ isError: true, text: textOf(error) });
    }
    setRound(round + 1);
    onPlaced();
    setBusy(false);
  };
  if (visitor.kind !== 'user') return html`<p class="quiet">Sign in above to trade.</p>`;
  if (market.status !== 'active')
    return html`<p class="quiet">No orders are accepted: the market is ${market.status}.</p>`;
  const name = market.outcomes?.[outcome] ?? '';
  return html`<form class="ticket" onSubmit=${onSubmit}>
    <div class="chips small" role="group" aria-label="Side">
      ${(['BUY', 'SELL'] as const).map(
        (each) => html`<button key=${each} type="button" aria-pressed=${side === each}
          onClick=${() => setSide(each)}>${each === 'BUY' ? 'Buy' : 'Sell'} ${name}</button>`,
      )}
    </div>
    <label>Price in cents <input inputmode="decimal" autocomplete="off" value=${price}
      onInput=${(event: Event) => setPrice(typedIn(event))} /></label>
    <label>Tokens <input inputmode="decimal" autocomplete="off" value=${size}
      onInput=${(event: Event) => setSize(typedIn(event))} /></label>
    <label>Kind <select value=${kind} onChange=${(event: Event) => setKind(typedIn(event) as Kind)}>
      ${KINDS.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}
    </select></label>
    ${
      typeof shown === 'string' ? html`<p class="quiet">${shown}</p>` : html`<${Costs} preview=${shown} side=${side} />`
    }
    <${Available} marketId=${market.id} outcome=${outcome} side=${side} round=${round} />
    <button type="submit" class=${side === 'BUY' ? 'buy' : 'sell'} disabled=${isBusy || typeof shown === 'string'}>
      ${isBusy ? 'Signing …' : `${side === 'BUY' ? 'Buy' : 'Sell'} ${name}`}</button>
    <p role=${result?.isError === true ? 'alert' : 'status'}>${result?.text ?? ''}</p>
  </form>`;
}

function Costs({ preview: shown, side }: { readonly preview: Preview; readonly side: Ticket['side'] }): VNode {
  const { notionalMicro, feeAtomic, receivedAtomic, payoutMicro } = shown;
  const rows: readonly (readonly [string, string])[] =
    side === 'BUY'
      ? [
          ['You pay at most', `$${units(notionalMicro)}`],
          ['Fee at most', `${units(feeAtomic)} tokens`],
          ['You get at least', `${units(receivedAtomic)} tokens`],
          ['Worth if it comes true', `$${units(payoutMicro)}`],
        ]
      : [
          ['Fee', `$${units(feeAtomic)}`],
          ['You get at least', `$${units(receivedAtomic)}`],
        ];
  return html`<dl class="costs">${rows.map(
    ([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

type AvailableProps = {
  readonly marketId: string;
  readonly outcome: 0 | 1;
  readonly side: Ticket['side'];
  readonly round: number;
};

/** Loaded anew after each order and each event of the account, and now and then for what has no event. */
function Available({ marketId, outcome, side, round }: AvailableProps): VNode | null {
  const load = (): Promise<Balances> => ask('GET', '/v1/user/balances');
  const { value: balances } = useLoaded('balances', load, BALANCES_SECONDS, round + useAccountChanges());
  if (balances === null) return null;
  const held = balances.tokens.find((row) => row.market_id === marketId && row.outcome_index === outcome);
  const text = side === 'BUY' ? `$${units(balances.usdc.available)}` : `${units(held?.available ?? '0')} tokens`;
  return html`<p class="quiet">Available: ${text}</p>`;
}

function typedIn({ target }: Event): string {
  return (target as HTMLInputElement | HTMLSelectElement).value;
}

function describe({ status, fills, remaining }: PlacementResponse): string {
  if (status === 'filled') return 'Filled.';
  if (status === 'partially_filled') return `Filled in part; the rest is in the book: ${units(remaining)}.`;
  if (status === 'open') return 'Placed.';
  return fills.length > 0 ? 'Filled in part; the rest was cancelled.' : 'Nothing was filled, and nothing is left.';
}
