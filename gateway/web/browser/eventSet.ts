/** An event of which exactly one market wins: what the visitor's tokens in it free, at a click (RULES.md 19.11). */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { conversionMicro, freeingConversions } from '../../../shared/base/eventSets.ts';
import type { Balances, EventView, Market } from '../../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { Outcome, useAction } from './action.ts';
import { useLoaded } from './api.ts';
import { cents, units } from './format.ts';
import { sendOnce } from './sending.ts';
import { ask, useVisitor } from './session.ts';

/** Less is shown as nothing. */
const CENT_MICRO = 10_000;
/** Markets that are decided before their set are eliminated: they convert no more. */
const CONVERTING: readonly string[] = ['active', 'locked'];

export function EventSet({ event }: { readonly event: EventView }): VNode {
  const visitor = useVisitor();
  return html`<section class="panel" aria-labelledby="set"><h2 id="set">One of these wins</h2>
    <p class="quiet">Exactly one of these markets pays its Yes; all others pay their No.</p>
    <${ImpliedPrices} event=${event} />
    ${visitor.kind === 'user' && html`<${Freeing} event=${event} who=${visitor.user.id} />`}</section>`;
}

/** Only markets that have some; nothing while there are none. */
function ImpliedPrices({ event }: { readonly event: EventView }): VNode | null {
  const priced = (event.implied_prices ?? []).filter(({ bid, ask }) => bid !== null || ask !== null);
  if (priced.length === 0) return null;
  const shown = (price: string | null): string => (price === null ? '–' : cents(price));
  const nameOf = (id: string): string => {
    const market = event.markets.find((each) => each.id === id);
    return market?.subtitle || market?.title || id;
  };
  return html`<details><summary>Prices through the other markets</summary>
    <p class="quiet">What a Yes costs and brings by a conversion at the best prices of all other markets.</p>
    <table><thead><tr><th scope="col">Market</th><th scope="col">Sell at</th><th scope="col">Buy at</th></tr></thead>
      <tbody>${priced.map(
        ({ market_id, bid, ask }) => html`<tr key=${market_id}><th scope="row"><bdi>${nameOf(market_id)}</bdi></th>
          <td>${shown(bid)}</td><td>${shown(ask)}</td></tr>`,
      )}</tbody></table></details>`;
}

type FreeingProps = { readonly event: EventView; readonly who: string };

function Freeing({ event, who }: FreeingProps): VNode | null {
  const [round, setRound] = useState(0);
  const action = useAction();
  const load = (): Promise<Balances> => ask('GET', '/v1/user/balances');
  const { value: balances } = useLoaded(`set ${who} ${event.id}`, load, 0, round + useAccountChanges());
  const markets = event.markets.filter(({ status }) => CONVERTING.includes(status));
  if (balances === null || markets.length < 2) return null;
  const steps = stepsOf(markets, balances);
  const micro = steps.reduce((sum, { chosen, amount }) => sum + conversionMicro(chosen.length, amount), 0);
  const free = (): Promise<string> => convert(event.id, markets, steps).finally(() => setRound((before) => before + 1));
  return html`<div>
    ${micro < CENT_MICRO && action.said === null && html`<p>Your tokens here pay nothing that is sure yet.</p>`}
    ${
      micro >= CENT_MICRO &&
      html`<p>Whichever wins, your tokens here pay at least <strong>$${units(BigInt(micro))}</strong>.
        You can have it now.</p>
      <button type="button" class="primary" disabled=${action.isBusy} onClick=${() => action.run(free)}>
        Free $${units(BigInt(micro))}</button>`
    }
    <${Outcome} action=${action} /></div>`;
}

type Steps = ReturnType<typeof freeingConversions>;

function stepsOf(markets: readonly Market[], { tokens }: Balances): Steps {
  const heldOf = (market: Market, outcome: number): number => {
    const row = tokens.find(({ market_id, outcome_index }) => market_id === market.id && outcome_index === outcome);
    return Number(row?.available ?? 0);
  };
  return freeingConversions(markets.map((market) => ({ yes: heldOf(market, 0), no: heldOf(market, 1) })));
}

/** One after the other: each needs what the one before gave. */
async function convert(eventId: string, markets: readonly Market[], steps: Steps): Promise<string> {
  let micro = 0;
  for (const { chosen, amount } of steps) {
    const ids = chosen.map((place) => markets[place].id);
    const body = { direction: 'to_usdc', markets: ids, amount: String(amount) };
    await sendOnce('POST', `/v1/events/${eventId}/convert`, body, () => undefined);
    micro += conversionMicro(chosen.length, amount);
  }
  return `Freed $${units(BigInt(micro))}.`;
}
