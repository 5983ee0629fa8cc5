/** Notifications as text for a person, with prices and dollars as the page says them (RULES.md 14.61). */
import type { Notification, NotificationType } from '../../shared/api/notifications.ts';
import { CLOSE_REASON, type CloseReason, MARKET_STATUS, SIDE } from '../../shared/base/codes.ts';
import { bytesToUuid } from '../../shared/base/hex.ts';
import { mulDivFloor, mulSafe } from '../../shared/base/int.ts';
import { unitsToDecimal } from '../../shared/base/units.ts';
import type { Catalog } from '../markets/catalog.ts';
import { resolutionOf } from '../markets/resolutionJson.ts';
import type { Notice } from './noticesStore.ts';
import type { DecidedMarket, EndedOrder, FundsMoved, NotificationPlace, Occurrence } from './notificationQueries.ts';

type Text = { readonly type: NotificationType; readonly title: string; readonly body: string };

/** Of a cent, in a dollar. */
const HUNDREDTHS = 10_000;

/** Why an order was cancelled that its account did not cancel. */
const CAUSES: Readonly<Partial<Record<CloseReason, string>>> = {
  [CLOSE_REASON.HEARTBEAT]: 'no heartbeat came in time',
  [CLOSE_REASON.MARKET_CLOSED]: 'trading in the market ended',
  [CLOSE_REASON.SELF_TRADE]: 'it met another order of yours',
  [CLOSE_REASON.ADMIN]: 'the exchange cancelled it',
  [CLOSE_REASON.GROUP_LIMIT]: 'its order group reached its limit',
};

/** A notification that is stored. */
export type NoticeItem = NotificationPlace & { readonly kind: 'notice'; readonly notice: Notice };
export type NotificationItem = Occurrence | NoticeItem;

export function notificationOf(
  item: NotificationItem,
  readMs: number | null,
  catalog: Pick<Catalog, 'byIndex'>,
): Notification {
  const { type, title, body } = textOf(item, catalog);
  return {
    id: bytesToUuid(item.id),
    type,
    title,
    body,
    read_at: readMs === null ? null : new Date(readMs).toISOString(),
    created_at: new Date(item.createdMs).toISOString(),
  };
}

function textOf(item: NotificationItem, catalog: Pick<Catalog, 'byIndex'>): Text {
  switch (item.kind) {
    case 'order':
      return ofOrder(item, catalog);
    case 'market':
      return ofMarket(item, catalog);
    case 'funds':
      return ofFunds(item);
    case 'notice':
      return item.notice;
  }
}

function ofOrder({ order }: EndedOrder, catalog: Pick<Catalog, 'byIndex'>): Text {
  const { details } = catalog.byIndex(order.market);
  const outcome = details.outcomes[order.outcome];
  const reason = order.reason as CloseReason;
  const filledLots = order.lots - order.remaining_lots;
  const tokens = (lots: number): string => unitsToDecimal(mulSafe(lots, order.ticks_per_unit));
  if (reason === CLOSE_REASON.FILLED || reason === CLOSE_REASON.FAK_REMAINDER) {
    const verb = order.side === SIDE.BUY ? 'Bought' : 'Sold';
    const part = order.remaining_lots === 0 ? '' : ` of ${tokens(order.lots)}`;
    const price = inCents(order.filled_notional_micro, mulSafe(filledLots, order.ticks_per_unit));
    const body = `${verb} ${tokens(filledLots)}${part} ${outcome} at ${price}: ${details.title}`;
    return { type: 'order_filled', title: 'Order filled', body };
  }
  const verb = order.side === SIDE.BUY ? 'Buy' : 'Sell';
  const filled = filledLots === 0 ? '' : `, ${tokens(filledLots)} filled`;
  const price = inCents(order.limit_ticks, order.ticks_per_unit);
  const what = `${verb} ${tokens(order.lots)} ${outcome} at ${price}${filled}`;
  if (reason === CLOSE_REASON.EXPIRED) {
    return { type: 'order_expired', title: 'Order expired', body: `${what}: ${details.title}` };
  }
  const body = `${what}; ${CAUSES[reason]}: ${details.title}`;
  return { type: 'order_cancelled', title: 'Order cancelled', body };
}

function ofMarket({ market, status, payoutYesPpm }: DecidedMarket, catalog: Pick<Catalog, 'byIndex'>): Text {
  const { details } = catalog.byIndex(market);
  const title = status === MARKET_STATUS.CANCELLED ? 'Market cancelled' : 'Market resolved';
  const body = `${resolutionOf(details.outcomes, payoutYesPpm)}: ${details.title}`;
  return { type: 'market_resolved', title, body };
}

function ofFunds({ usdcMicro }: FundsMoved): Text {
  const body = inDollars(Math.abs(usdcMicro));
  return usdcMicro > 0
    ? { type: 'deposit', title: 'Deposit credited', body }
    : { type: 'withdrawal', title: 'Withdrawal debited', body };
}

/** "65.5¢": USDC per token, to a hundredth of a cent and rounded down. */
function inCents(notional: number, tokens: number): string {
  const hundredths = mulDivFloor(notional, HUNDREDTHS, tokens);
  const fraction = String(hundredths % 100).padStart(2, '0');
  return `${Math.floor(hundredths / 100)}.${fraction}¢`.replace(/\.?0+¢$/, '¢');
}

/** "$1,000.00", with further digits where there are any. */
function inDollars(micro: number): string {
  const [whole, fraction = ''] = unitsToDecimal(micro).split('.');
  return `$${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}.${fraction.padEnd(2, '0')}`;
}
