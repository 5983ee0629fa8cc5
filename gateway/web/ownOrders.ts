/** The open orders of the account, each with a button that cancels it. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { UserOrder } from '../../shared/client/types.ts';
import { textOf } from './api.ts';
import { cents, units } from './format.ts';
import { Link } from './router.ts';
import { ask } from './session.ts';

type OwnOrdersProps = {
  readonly orders: readonly UserOrder[];
  /** Titles of markets by id; without it the orders are of one market, which needs no naming. */
  readonly titles?: ReadonlyMap<string, string>;
  readonly onChanged: () => void;
};

export function OwnOrders({ orders, titles, onChanged }: OwnOrdersProps): VNode {
  const [said, say] = useState('');
  const cancel = async (hash: string): Promise<void> => {
    try {
      await ask('DELETE', `/v1/orders/${hash}`);
      say('Cancelled.');
    } catch (error) {
      say(textOf(error));
    }
    onChanged();
  };
  return html`<p role="status">${said}</p>
    ${
      orders.length === 0
        ? html`<p class="quiet">You have no open orders.</p>`
        : html`<table><caption class="unseen">Your open orders</caption>
          <thead><tr>${titles !== undefined && html`<th scope="col">Market</th>`}<th scope="col">Order</th>
            <th scope="col">Price</th><th scope="col">Left</th><th scope="col">Cancel</th></tr></thead>
          <tbody>${orders.map(
            (order) => html`<tr key=${order.order_hash}>
              ${
                titles !== undefined &&
                html`<th scope="row"><${Link} to=${`/markets/${order.market_id}`}>${
                  titles.get(order.market_id) ?? 'Market'
                }</${Link}></th>`
              }
              <td>${order.side === 'BUY' ? 'Buy' : 'Sell'} ${order.outcome_index === 0 ? 'Yes' : 'No'}</td>
              <td>${cents(order.price)}</td>
              <td>${order.side === 'BUY' ? `$${units(order.remaining)}` : `${units(order.remaining)} tokens`}</td>
              <td><button type="button" class="small" aria-label=${`Cancel the order at ${cents(order.price)}`}
                onClick=${() => cancel(order.order_hash)}>Cancel</button></td></tr>`,
          )}</tbody></table>`
    }`;
}
