/** The open orders of the account: each with its remainder, its queue position, and buttons to change and cancel it. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ApiError } from '../../../shared/client/http.ts';
import type { CancelAllResponse, Market, UserOrder } from '../../../shared/client/types.ts';
import { AmendForm } from './amendForm.ts';
import { changeTextOf } from './api.ts';
import { cents, outcomeName, units } from './format.ts';
import { cancelOnClose, useCancelsOnClose } from './leaving.ts';
import { leftAtomic, type Queued, wholeAtomic } from './openOrders.ts';
import { Link } from './router.ts';
import { untilAnswered } from './sending.ts';
import { ask } from './session.ts';

type OwnOrdersProps = {
  readonly orders: readonly UserOrder[];
  /** Markets by id, as far as they are loaded. */
  readonly markets: ReadonlyMap<string, Market>;
  /** Queue positions by order id, for the orders of one market; absent if the orders are of several markets. */
  readonly queues?: ReadonlyMap<string, Queued>;
  readonly onChanged: () => void;
};

export function OwnOrders({ orders, markets, queues, onChanged }: OwnOrdersProps): VNode {
  const [said, say] = useState('');
  const [amended, setAmended] = useState<string | null>(null);
  const place = useRef<HTMLParagraphElement>(null);
  /** Orders whose cancel was sent and not refused: they stay in the list until it is loaded again. */
  const cancelled = useRef(new Set<string>()).current;
  const done = (text: string): void => {
    say(text);
    setAmended(null);
    // The button disappears with its order: the keyboard goes on from here.
    place.current?.focus();
  };
  const cancel = async (hash: string): Promise<void> => {
    if (cancelled.has(hash)) return;
    cancelled.add(hash);
    try {
      done(await cancelOrder(hash, () => say('No answer yet. Asking again …')));
    } catch (error) {
      cancelled.delete(hash);
      say(changeTextOf(error));
    }
    onChanged();
  };
  const cancelEvery = async (): Promise<void> => {
    // With queue positions the orders are of one market.
    const marketId = queues === undefined ? null : orders[0].market_id;
    try {
      done(await cancelAll(marketId, () => say('No answer yet. Asking again …')));
    } catch (error) {
      say(changeTextOf(error));
    }
    onChanged();
  };
  const onAmended = (text: string): void => {
    done(text);
    onChanged();
  };
  const row = (order: UserOrder): VNode => {
    const market = markets.get(order.market_id);
    const isAmended = amended === order.order_hash && market !== undefined;
    return html`<${OrderRow} key=${order.order_hash} order=${order} market=${market} queues=${queues}
        isAmended=${isAmended} onAmend=${() => setAmended(isAmended ? null : order.order_hash)}
        onCancel=${() => cancel(order.order_hash)} />
      ${
        isAmended &&
        html`<tr key=${`amend ${order.order_hash}`}><td colspan="5"><${AmendForm} order=${order} market=${market}
          queued=${queues?.get(order.id)} onDone=${onAmended} onClose=${() => setAmended(null)} /></td></tr>`
      }`;
  };
  const isCancelled = useCancelsOnClose();
  return html`<p role="status" tabindex="-1" ref=${place}>${said}</p>
    <label class="check quiet"><input type="checkbox" checked=${isCancelled}
      onChange=${({ currentTarget }: TargetedEvent<HTMLInputElement>) => cancelOnClose(currentTarget.checked)} />
      <span>Cancel all my orders when this page closes</span></label>
    ${
      orders.length === 0
        ? html`<p class="quiet">You have no open orders.</p>`
        : html`<table class="orders"><caption class="unseen">Your open orders</caption>
          <thead><tr>${queues === undefined && html`<th scope="col">Market</th>`}<th scope="col">Order</th>
            <th scope="col">Price</th><th scope="col">Left</th>
            ${queues !== undefined && html`<th scope="col">Ahead</th>`}<th scope="col">
            ${
              orders.length > 1
                ? html`<button type="button" class="small" onClick=${cancelEvery}
                    title="those of your API keys too">Cancel all</button>`
                : html`<span class="unseen">Actions</span>`
            }</th></tr></thead>
          <tbody>${orders.map(row)}</tbody></table>`
    }`;
}

type OrderRowProps = {
  readonly order: UserOrder;
  readonly market: Market | undefined;
  readonly queues: ReadonlyMap<string, Queued> | undefined;
  readonly isAmended: boolean;
  readonly onAmend: () => void;
  readonly onCancel: () => void;
};

function OrderRow({ order, market, queues, isAmended, onAmend, onCancel }: OrderRowProps): VNode {
  const { price, side, outcome_index, market_id, time_in_force, post_only } = order;
  const queued = queues?.get(order.id);
  const name = outcomeName(market, outcome_index);
  const notes = [time_in_force === 'GTD' && 'until a time', post_only && 'post-only'].filter(Boolean).join(', ');
  return html`<tr>
    ${
      queues === undefined &&
      html`<th scope="row"><${Link} to=${`/markets/${market_id}`}>${market?.title ?? 'Market'}</${Link}></th>`
    }
    <td>${side === 'BUY' ? 'Buy ' : 'Sell '}<bdi>${name}</bdi>
      ${notes !== '' && html`<br /><small>${notes}</small>`}</td>
    <td>${cents(price)}</td>
    <td>${units(leftAtomic(order))}${' '}<small>of ${units(wholeAtomic(order))}</small></td>
    ${
      queues !== undefined &&
      html`<td title=${queued === undefined ? 'not in the book' : `${queued.aheadOrders} orders`}>${
        queued === undefined ? '–' : units(queued.aheadAtomic)
      }</td>`
    }
    <td class="actions"><button type="button" class="small" aria-expanded=${isAmended} disabled=${market === undefined}
        aria-label=${`Change the order at ${cents(price)}`} onClick=${onAmend}>Change</button>${' '}
      <button type="button" class="small" aria-label=${`Cancel the order at ${cents(price)}`}
        onClick=${onCancel}>Cancel</button></td></tr>`;
}

async function cancelOrder(hash: string, onUnanswered: () => void): Promise<string> {
  let isRepeated = false;
  try {
    await untilAnswered(
      () => ask('DELETE', `/v1/orders/${hash}`),
      () => {
        isRepeated = true;
        onUnanswered();
      },
    );
    return 'Cancelled.';
  } catch (error) {
    // The lost answer may have been that of the cancel.
    if (isRepeated && error instanceof ApiError && error.code === 'ORDER_NOT_CANCELLABLE') return 'It is closed.';
    throw error;
  }
}

/** Cancels all orders of the account, or those of one market, by one request. */
async function cancelAll(marketId: string | null, onUnanswered: () => void): Promise<string> {
  const path = marketId === null ? '/v1/orders/cancel-all' : '/v1/orders/cancel-market';
  const body = marketId === null ? undefined : { market_id: marketId };
  const { cancelled } = await untilAnswered(() => ask<CancelAllResponse>('DELETE', path, body), onUnanswered);
  return cancelled === 1 ? 'One order was cancelled.' : `${cancelled} orders were cancelled.`;
}
