/** One market, live: its ladder, its depth, the history of its price, its tape, and its rules. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import type { TradeFrame } from '../../../shared/client/stream/frames.ts';
import type { Market, Ticker, UserOrder } from '../../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { get, useLoaded } from './api.ts';
import { BookStatus } from './bookStatus.ts';
import { useCalm } from './calm.ts';
import { DepthChart } from './depthChart.ts';
import { Siblings, useEventOf, Where } from './eventNames.ts';
import { complement, finestTicks } from './format.ts';
import { Ladder } from './ladder.ts';
import { type LiveBook, useBook } from './live.ts';
import { useMarketChanges } from './marketChanges.ts';
import { MarketRules } from './marketRules.ts';
import { openOrders, useQueues } from './openOrders.ts';
import { OwnOrders } from './ownOrders.ts';
import { PriceChart } from './priceChart.ts';
import { useTitle } from './router.ts';
import { useVisitor } from './session.ts';
import { Tape } from './tape.ts';
import { type ChosenPrice, type Reach, TicketPanel } from './ticket.ts';
import { keptOutcome } from './ticketState.ts';
import { Waiting } from './waiting.ts';
import { useComing } from './whole.ts';

/** Refreshes the volume; other changes of the market come by themselves. */
const REFRESH_SECONDS = 60;
const ORDERS_SECONDS = 30;
const PRICE_MS = 1000;
const DEPTH_MS = 200;

export function MarketPage({ id }: { readonly id: string }): VNode {
  const [orders, setOrders] = useState(0);
  const round = orders + useMarketChanges(id);
  const { value: market, error } = useLoaded<Market>(id, () => get(`/v1/markets/${id}`), REFRESH_SECONDS, round);
  if (market === null) return html`<${Waiting} error=${error} />`;
  return html`<${OpenMarket} market=${market} error=${error} orders=${orders}
    onOrder=${() => setOrders((before) => before + 1)} />`;
}

type OpenMarketProps = {
  readonly market: Market;
  readonly error: string | null;
  /** Orders sent from here: the answer to one may say that the market has ended. */
  readonly orders: number;
  readonly onOrder: () => void;
};

function OpenMarket({ market, error, orders, onOrder }: OpenMarketProps): VNode {
  const [outcome, setOutcome] = useState(() => keptOutcome(market.id) ?? outcomeOfAddress());
  const event = useEventOf(market);
  const [chosen, choose] = useState<ChosenPrice | null>(null);
  const [reach, setReach] = useState<Reach>(null);
  const [changed, setChanged] = useState(0);
  const book = useBook(market.id);
  // Loads again after each order and each event of the account.
  const round = orders + changed + useAccountChanges();
  const own = useOrdersHere(market, round);
  useTitle(market.title);
  const levels = book.levels[outcome];
  const yes = useRef(book.levels[0]);
  yes.current = book.levels[0];
  const lastPrice = useLastPrice(market.id, outcome, book.trades.at(0));
  // Preact does not draw the same element again: these do not change with every frame.
  const tape = useMemo(
    () => html`<${Tape} marketId=${market.id} outcome=${market.outcomes[0]} trades=${book.trades} />`,
    [market, book.trades],
  );
  const above = useMemo(
    () => html`<${Where} market=${market} event=${event} /><h1><bdi>${market.title}</bdi></h1>`,
    [market, event],
  );
  const below = useMemo(
    () => html`<${MarketRules} market=${market} /><${Siblings} market=${market} event=${event} />`,
    [market, event],
  );
  const ownOrders = useMemo(
    () =>
      own !== null &&
      html`<${OrdersHere} market=${market} orders=${own} yes=${yes}
        onChanged=${() => setChanged((before) => before + 1)} />`,
    [market, own],
  );
  const ownPrices = useMemo(() => pricesOf(own, outcome), [own, outcome]);
  const name = market.outcomes[outcome];
  const isTraded = market.status === 'active' && Number(market.total_volume) > 0;
  return html`
    ${above}
    <${BookStatus} book=${book} status=${market.status} stage=${market.stage} />
    ${error !== null && html`<p class="quiet">${error}</p>`}
    <div class="market" data-state=${book.state} data-traded=${isTraded}>
      <div class="column">
        <${Charts} market=${market} book=${book} outcome=${outcome} />
        ${ownOrders}
      </div>
      <${TicketPanel} market=${market} outcome=${outcome} onOutcome=${setOutcome} books=${book.levels}
        isLive=${book.state === 'live'} chosen=${chosen} own=${own ?? []}
        onReach=${setReach} onPlaced=${onOrder} />
      <div class="column book-column">
        <section class="panel" aria-labelledby="ladder"><h2 id="ladder">Orders for ${name}</h2>
          <${Ladder} levels=${levels} outcome=${name} lastPrice=${lastPrice} reach=${reach}
            ownPrices=${ownPrices} onChoose=${choose} /></section>
        <section class="panel" aria-labelledby="tape"><h2 id="tape">Trades of ${market.outcomes[0]}</h2>
          ${tape}</section>
      </div>
    </div>
    ${below}
  `;
}

/** A button of another view names the outcome that is to be bought here. */
function outcomeOfAddress(): 0 | 1 {
  return new URLSearchParams(location.search).get('outcome') === '1' ? 1 : 0;
}

type ChartsProps = { readonly market: Market; readonly book: LiveBook; readonly outcome: 0 | 1 };

/** A chart costs more to draw than a row: its price is updated once a second, its depth five times. */
function Charts({ market, book, outcome }: ChartsProps): VNode {
  const name = market.outcomes[outcome];
  const trades = useCalm(book.trades, PRICE_MS);
  const levels = useCalm(book.levels, DEPTH_MS);
  // The first depth comes a moment after its book, and has a height.
  useComing(isEmpty(levels[0]) && !isEmpty(book.levels[0]));
  const price = useMemo(
    () => html`<${PriceChart} market=${market} outcome=${outcome} trades=${trades} />`,
    [market, outcome, trades],
  );
  const depth = useMemo(
    () => html`<${DepthChart} levels=${levels[outcome]} outcome=${name} />`,
    [levels, outcome, name],
  );
  return html`<div class="charts">
    <section class="panel" aria-labelledby="history"><h2 id="history">Price of ${name}</h2>${price}</section>
    <section class="panel" aria-labelledby="depth"><h2 id="depth">Depth</h2>${depth}</section>
  </div>`;
}

function isEmpty({ bids, asks }: Levels): boolean {
  return bids.length + asks.length === 0;
}

/** In terms of the displayed outcome; null before the first trade. */
function useLastPrice(marketId: string, outcome: 0 | 1, newest: TradeFrame | undefined): string | null {
  const load = (): Promise<Ticker> => get(`/v1/markets/${marketId}/ticker`);
  const { value } = useLoaded(`ticker ${marketId}`, load);
  const { price, outcome_index } = newest?.data ?? { price: value?.last_price ?? null, outcome_index: 0 };
  return price === null || outcome_index === outcome ? price : complement(price);
}

/** The visitor's open orders of the market; null for anonymous visitors, and until they are loaded. */
function useOrdersHere(market: Market, round: number): readonly UserOrder[] | null {
  const visitor = useVisitor();
  const load = async (): Promise<UserOrder[]> => {
    if (visitor.kind !== 'user') return [];
    return (await openOrders()).filter(({ market_id }) => market_id === market.id);
  };
  const who = visitor.kind === 'user' ? visitor.user.id : visitor.kind;
  const { value } = useLoaded(`${who} ${market.id}`, load, ORDERS_SECONDS, round);
  return visitor.kind === 'user' ? value : null;
}

type OrdersHereProps = {
  readonly market: Market;
  readonly orders: readonly UserOrder[];
  /** The book of Yes. */
  readonly yes: { readonly current: Levels };
  readonly onChanged: () => void;
};

function OrdersHere({ market, orders, yes, onChanged }: OrdersHereProps): VNode {
  const queues = useQueues(market.id, orders, yes);
  return html`<section class="panel" aria-labelledby="own-orders"><h2 id="own-orders">Your orders here</h2>
    <${OwnOrders} orders=${orders} markets=${new Map([[market.id, market]])} queues=${queues} onChanged=${onChanged} />
  </section>`;
}

/** Prices in terms of the displayed outcome. */
function pricesOf(orders: readonly UserOrder[] | null, outcome: 0 | 1): ReadonlySet<number> {
  const prices = (orders ?? []).map(({ price, outcome_index }) =>
    finestTicks(outcome_index === outcome ? price : complement(price)),
  );
  return new Set(prices);
}
