/** The maker's tab over an order that waits: which one is to be changed, and what becomes of its place in the queue. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Levels } from '../../../shared/client/stream/bookReplica.ts';
import type { Market, UserOrder } from '../../../shared/client/types.ts';
import { AmendForm } from './amendForm.ts';
import { cents, outcomeName, units } from './format.ts';
import { leftAtomic, useQueues } from './openOrders.ts';

type OrderChoiceProps = {
  readonly market: Market;
  readonly orders: readonly UserOrder[];
  /** The hash of the order that is to be changed; empty for a new one. */
  readonly chosen: string;
  readonly onChoose: (hash: string) => void;
};

export function OrderChoice({ market, orders, chosen, onChoose }: OrderChoiceProps): VNode | null {
  const isGone = chosen !== '' && !orders.some(({ order_hash }) => order_hash === chosen);
  if (orders.length === 0 && !isGone) return null;
  const onChange = ({ currentTarget }: TargetedEvent<HTMLSelectElement>): void => onChoose(currentTarget.value);
  return html`<label class="field"><span>Order</span><select value=${isGone ? '' : chosen} onChange=${onChange}>
      <option value="">a new one</option>
      ${orders.map(
        (order) => html`<option key=${order.order_hash} value=${order.order_hash}>${nameOf(order, market)}</option>`,
      )}
    </select></label>
    ${isGone && html`<p role="status" class="quiet">The order that you wanted to change is closed.</p>`}`;
}

type AmendInTicketProps = {
  readonly market: Market;
  readonly order: UserOrder;
  /** The book of Yes. */
  readonly yes: Levels;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
};

export function AmendInTicket({ market, order, yes, onDone, onClose }: AmendInTicketProps): VNode {
  const orders = useMemo(() => [order], [order]);
  const queued = useQueues(market.id, orders, { current: yes }).get(order.id);
  return html`<${AmendForm} key=${order.order_hash} order=${order} market=${market} queued=${queued}
    onDone=${onDone} onClose=${onClose} />`;
}

function nameOf(order: UserOrder, market: Market): string {
  const does = order.side === 'BUY' ? 'buys' : 'sells';
  return `${cents(order.price)}: ${does} ${units(leftAtomic(order))} ${outcomeName(market, order.outcome_index)}`;
}
