/** An order as the client of the witness (witness.ts) knows it, and its effect on the account. */
import type { OrderRecord, PlacementBody, PlacementResponse } from '../../shared/client/types.ts';

/** Progress of a cancel of the order; a later word includes the ones before. */
export const CANCEL = { NONE: 0, ASKED: 1, CLOSED: 2, CANCELLED: 3 } as const;
type Cancel = (typeof CANCEL)[keyof typeof CANCEL];

export type Order = {
  readonly trader: number;
  readonly market: number;
  readonly body: PlacementBody;
  readonly hash: string;
  /** The answer or the refusal; null while there is none. */
  answer: PlacementResponse | 'refused' | null;
  cancel: Cancel;
  /** A cancel of many orders may have closed it as well. */
  isMassAsked: boolean;
  /** The order that it takes the place of, in one step. */
  replaces: Order | null;
  /** Gross, from the trades. */
  tokens: number;
  notionalMicro: number;
};

export const FEE_BPS = 50;

export function newOrder(
  trader: number,
  market: number,
  body: PlacementBody,
  hash: string,
  isMassAsked: boolean,
): Order {
  const cancel = isMassAsked ? CANCEL.ASKED : CANCEL.NONE;
  return { trader, market, body, hash, answer: null, cancel, isMassAsked, replaces: null, tokens: 0, notionalMicro: 0 };
}

export function raise(order: Order, cancel: Cancel): void {
  if (cancel > order.cancel) order.cancel = cancel;
}

/** Only a replacement has asked for its cancel, and there was none. */
export function stays(order: Order): void {
  if (order.cancel === CANCEL.ASKED && !order.isMassAsked) order.cancel = CANCEL.NONE;
}

export function isAccepted({ answer }: Order): boolean {
  return answer !== null && answer !== 'refused';
}

export function isOpen({ status }: OrderRecord): boolean {
  return status === 'open' || status === 'partially_filled';
}

/** An order whose answer was lost, as its record shows it. */
export function resolved(record: OrderRecord): PlacementResponse {
  const { id, order_hash, status, remaining } = record;
  const remaining_status = isOpen(record) ? 'open' : status === 'filled' ? 'none' : 'cancelled';
  return { order_id: id, order_hash, status, matches: 0, fills: [], remaining, remaining_status };
}

export function tokensOf({ side, maker_amount, taker_amount }: PlacementBody): number {
  return Number(side === 'BUY' ? taker_amount : maker_amount);
}

export function addFill(order: Order, tokens: number, notionalMicro: number): void {
  order.tokens += tokens;
  order.notionalMicro += notionalMicro;
}

/** The effect of an order's fills on its account. The fee is deducted from what it received. */
export function effectOf({ body, tokens, notionalMicro }: Order): { usdcMicro: number; tokens: number } {
  const fee = (received: number): number => Math.floor((FEE_BPS * received) / 10_000);
  return body.side === 'BUY'
    ? { usdcMicro: -notionalMicro, tokens: tokens - fee(tokens) }
    : { usdcMicro: notionalMicro - fee(notionalMicro), tokens: -tokens };
}
