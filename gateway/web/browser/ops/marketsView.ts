/** Markets: found by id or by words, and locked, opened and decided here. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Book, BrowsedEvents, Market, MarketHolders, StageStep, Ticker } from '../../../../shared/client/types.ts';
import { get, useLoaded } from '../api.ts';
import { outcomeName } from '../format.ts';
import { ToCome } from '../toCome.ts';
import { When } from '../when.ts';
import { Action } from './action.ts';
import { deciding, type InMarket, keptInMarket, MOST_LEVELS, pausingMarket, settling } from './consequences.ts';
import { stageWords } from './numbers.ts';
import { StageSteps } from './stages.ts';
import type { ViewProps } from './view.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const REFRESH_SECONDS = 4;
const OPEN: readonly string[] = ['active', 'locked', 'resolving'];
const WHOLE_PPM = 1_000_000;
const KEPT = 'Their open orders stay.';
const DECIDED: readonly string[] = ['resolved', 'settled', 'cancelled'];

type Inside = { readonly book: Book; readonly ticker: Ticker };
type Found = { readonly id: string; readonly title: string };

export function MarketsView(props: ViewProps): VNode {
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState<string | null>(null);
  const search = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get('words') ?? '').trim();
    setWords(text);
    setChosen(UUID.test(text) ? text.toLowerCase() : null);
  };
  return html`
    <section class="panel">
      <h2>Find a market</h2>
      <form class="row" onSubmit=${search}>
        <label>Id, or words of its title <input name="words" maxlength="100" autocomplete="off" /></label>
        <button type="submit">Find</button>
      </form>
      ${words !== '' && chosen === null && html`<${FoundMarkets} words=${words} onChoose=${setChosen} />`}
    </section>
    ${chosen !== null && html`<${MarketPanel} key=${chosen} id=${chosen} ...${props} />`}
  `;
}

type FoundProps = { readonly words: string; readonly onChoose: (id: string) => void };

function FoundMarkets({ words, onChoose }: FoundProps): VNode {
  const query = new URLSearchParams({ search: words, limit: '20', core_lines: '0' });
  const { value, error } = useLoaded<BrowsedEvents>(`${query}`, () => get(`/v1/events/browse?${query}`));
  if (value === null) return html`<${ToCome} error=${error} />`;
  const found: Found[] = value.events.flatMap(({ market_groups }) => market_groups.flatMap(({ markets }) => markets));
  if (found.length === 0) {
    return html`<p role="status">No listed market has these words. Drafts and ended ones are found by their id.</p>`;
  }
  return html`<ul class="plain">${found.map(
    ({ id, title }) => html`<li key=${id}><button type="button" onClick=${() => onChoose(id)}>${title}</button></li>`,
  )}</ul>`;
}

function MarketPanel({ id, client, operator }: ViewProps & { readonly id: string }): VNode {
  const [round, setRound] = useState(0);
  const load = (): Promise<Market> => get(`/v1/markets/${id}`);
  const { value: market, error } = useLoaded<Market>(id, load, REFRESH_SECONDS, round);
  // Read once after each change: the exchange looks through all positions for it.
  const holders = useLoaded<MarketHolders>(`holders ${id}`, () => client.marketHolders(id), undefined, round).value;
  const inside = useLoaded<Inside>(`in ${id}`, () => loadInside(id), REFRESH_SECONDS, round).value;
  const within: InMarket = inside === null || holders === null ? null : { ...inside, holders };
  if (market === null) return html`<section class="panel"><${ToCome} error=${error} /></section>`;
  const onDone = (): void => setRound((before) => before + 1);
  const action = { client, operator, needs: 'catalogue', path: `/admin/markets/${id}`, onDone } as const;
  const isDecided = DECIDED.includes(market.status);
  const undecided = OPEN.includes(market.status) ? null : `The market is ${market.status}.`;
  return html`<section class="panel" aria-label="Market">
    <h2>${market.title}</h2>
    <dl class="facts">
      <div><dt>Status</dt><dd><strong>${market.status}</strong></dd></div>
      <div><dt>Stage</dt><dd><strong>${stageWords(market.stage)}</strong></dd></div>
      <div><dt>Id</dt><dd>${market.id}</dd></div>
      <div><dt>Trading ends</dt>
        <dd>${market.trading_ends_at === null ? '–' : html`<${When} time=${market.trading_ends_at} />`}</dd></div>
    </dl>
    ${error !== null && html`<p class="bad" role="alert">${error}</p>`}
    <div class="actions">
      ${
        market.status === 'locked'
          ? html`<${Action} ...${action} label="Resume the market"
              run=${() => client.patchMarket(id, { status: 'active' })}
              confirm=${`Orders are accepted again in this market. ${keptInMarket(within)}`} />`
          : html`<${Action} ...${action} label="Pause the market" isDangerous
              closed=${market.status === 'active' ? null : `The market is ${market.status}.`}
              run=${() => client.patchMarket(id, { status: 'locked' })}
              confirm=${pausingMarket(within)} />`
      }
      <${StageSteps} ...${action} what="The market" stage=${market.stage} orders=${keptInMarket(within)}
        closed=${isDecided ? `The market is ${market.status}.` : null}
        run=${(step: StageStep) => client.stepMarket(id, step)} />
      ${
        market.event_id !== undefined &&
        html`<${StageSteps} ...${action} what="All markets of its event" stage=${market.stage} orders=${KEPT}
        path=${`/admin/events/${market.event_id}/stage`}
        run=${(step: StageStep) => client.stepEvent(market.event_id!, step)} />`
      }
      ${[0, 1].map((index) => {
        const name = outcomeName(market, index);
        return html`<${Action} key=${index} ...${action} label=${`Resolve: ${name}`} isDangerous closed=${undecided}
          run=${() => client.resolveMarket(id, { outcome_index: index as 0 | 1 })}
          confirm=${deciding(market, index === 0 ? WHOLE_PPM : 0, within)} />`;
      })}
      <${Action} ...${action} label="Cancel the market" isDangerous
        closed=${isDecided ? `The market is ${market.status}.` : null} run=${() => client.cancelMarket(id)}
        confirm=${deciding(market, WHOLE_PPM / 2, within)} />
      <${Action} ...${action} label="Settle" closed=${isDecided ? null : 'The market is not decided.'}
        run=${() => client.settleMarket(id)} confirm=${settling(within)} />
    </div>
  </section>`;
}

/** Loads what actions concern. */
async function loadInside(id: string): Promise<Inside> {
  const [book, ticker] = await Promise.all([
    get<Book>(`/v1/orders/book/${id}?levels=${MOST_LEVELS}`),
    get<Ticker>(`/v1/markets/${id}/ticker`),
  ]);
  return { book, ticker };
}
