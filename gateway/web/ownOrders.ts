/** The open orders of the account, each with a button that cancels it. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Market, UserOrder, UserOrders } from '../../shared/client/types.ts';
import { textOf } from './api.ts';
import { cents, units } from './format.ts';
import { Link } from './router.ts';
import { ask } from './session.ts';

type OwnOrdersProps = {
  readonly orders: readonly UserOrder[];
  /** By id, as far as they are known. */
  readonly markets: ReadonlyMap<string, Market>;
  /** The orders are of several markets. */
  readonly namesMarkets?: boolean;
  readonly onChanged: () => void;
};

const ORDERS_A_PAGE = 200;
/** An account with more of them trades by a program. */
const MOST_PAGES = 5;

/** Newest first. */
export async function openOrders(): Promise<UserOrder[]> {
  const found: UserOrder[] = [];
  let cursor: string | null = '';
  for (let page = 0; page < MOST_PAGES && cursor !== null; page++) {
    const query = new URLSearchParams({ status: 'open', sort: 'created_at', limit: String(ORDERS_A_PAGE) });
    if (cursor !== '') query.set('cursor', cursor);
    const { orders, next_cursor }: UserOrders = await ask('GET', `/v1/user/orders/v2?${query}`);
    found.push(...orders);
    cursor = next_cursor;
  }
  return found;
}

export function OwnOrders({ orders, markets, namesMarkets = false, onChanged }: OwnOrdersProps): VNode {
  const [said, say] = useState('');
  const place = useRef<HTMLParagraphElement>(null);
  /** Orders whose cancel was sent and not refused: they stay in the list until it is loaded anew. */
  const cancelled = useRef(new Set<string>()).current;
  const cancel = async (hash: string): Promise<void> => {
    if (cancelled.has(hash)) return;
    cancelled.add(hash);
    try {
      await ask('DELETE', `/v1/orders/${hash}`);
      say('Cancelled.');
      // The button goes with its order: the keyboard goes on from here.
      place.current?.focus();
    } catch (error) {
      cancelled.delete(hash);
      say(textOf(error));
    }
    onChanged();
  };
  return html`<p role="status" tabindex="-1" ref=${place}>${said}</p>
    ${
      orders.length === 0
        ? html`<p class="quiet">You have no open orders.</p>`
        : html`<table><caption class="unseen">Your open orders</caption>
          <thead><tr>${namesMarkets && html`<th scope="col">Market</th>`}<th scope="col">Order</th>
            <th scope="col">Price</th><th scope="col">Left</th><th scope="col">Cancel</th></tr></thead>
          <tbody>${orders.map(
            (order) => html`<tr key=${order.order_hash}>
              ${
                namesMarkets &&
                html`<th scope="row"><${Link} to=${`/markets/${order.market_id}`}>${
                  markets.get(order.market_id)?.title ?? 'Market'
                }</${Link}></th>`
              }
              <td>${`${order.side === 'BUY' ? 'Buy' : 'Sell'} ${outcomeName(
                markets,
                order.market_id,
                order.outcome_index,
              )}`}</td>
              <td>${cents(order.price)}</td>
              <td>${order.side === 'BUY' ? `$${units(order.remaining)}` : `${units(order.remaining)} tokens`}</td>
              <td><button type="button" class="small" aria-label=${`Cancel the order at ${cents(order.price)}`}
                onClick=${() => cancel(order.order_hash)}>Cancel</button></td></tr>`,
          )}</tbody></table>`
    }`;
}

/** Markets name their outcomes: "Warmer" where others say "Yes". */
export function outcomeName(markets: ReadonlyMap<string, Market>, marketId: string, index: number): string {
  return markets.get(marketId)?.outcomes[index] ?? (index === 0 ? 'Yes' : 'No');
}
