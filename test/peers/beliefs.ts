/**
 * These are the beliefs of a bot of Polymarket from the messages of its user channel alone: open orders, trades with
 * their states, and what these did to its USDC and its tokens. Amounts are in millionths.
 */
import { parseUnits } from 'viem';
import type { Json } from '../support/server.ts';

const MILLION = 1_000_000n;
const BPS = 10_000n;

type OpenOrder = `${string} ${'BUY' | 'SELL'} ${string} at ${string}, ${string} filled`;
/** The account's side of a trade. */
type Own = {
  readonly orderId: string;
  readonly assetId: string;
  readonly side: 'BUY' | 'SELL';
  readonly atomic: bigint;
  readonly priceMicro: bigint;
  readonly feeBps: bigint;
  readonly isTaker: boolean;
};
type Trade = { readonly own: Own; readonly states: string[] };
export type Beliefs = {
  readonly open: readonly OpenOrder[];
  readonly trades: ReadonlyMap<string, Trade>;
  readonly usdcMicro: bigint;
  readonly tokens: ReadonlyMap<string, bigint>;
};

export const micro = (text: string): bigint => parseUnits(text, 6);

export function openOrder(order: { asset_id: string; side: 'BUY' | 'SELL' } & Record<string, string>): OpenOrder {
  const { asset_id, side, original_size, price, size_matched } = order;
  const [size, limit, filled] = [original_size, price, size_matched].map((text) => String(micro(text ?? '')));
  return `${asset_id} ${side} ${size} at ${limit}, ${filled} filled`;
}

/** @param owner the key of the account */
export function believed(messages: readonly Json[], owner: string): Beliefs {
  const orders = new Map<string, Json>();
  const trades = new Map<string, Trade>();
  for (const message of messages) {
    if (message.event_type === 'order') orders.set(message.id, later(orders.get(message.id), message));
    if (message.event_type !== 'trade') continue;
    const known = trades.get(message.id) ?? { own: ownSide(message, owner), states: [] };
    known.states.push(message.status);
    trades.set(message.id, known);
  }
  const open = [...orders.values()].filter(({ status }) => status === 'LIVE').map(openOrder);
  return { open: open.sort(), trades, ...moved([...trades.values()].map(({ own }) => own)) };
}

/** The end of an order is its last word, and what is filled only grows. */
function later(before: Json | undefined, message: Json): Json {
  if (before === undefined) return message;
  const isLater = micro(message.size_matched) >= micro(before.size_matched) && before.status === 'LIVE';
  return isLater || message.status === 'CANCELED' ? message : before;
}

function ownSide(trade: Json, owner: string): Own {
  const isTaker = trade.trader_side === 'TAKER';
  const maker = trade.maker_orders[0];
  if ((isTaker ? trade.owner : maker.owner) !== owner) throw new Error(`trade ${trade.id} is of another account`);
  const { asset_id: assetId, side, price, fee_rate_bps } = isTaker ? trade : maker;
  return {
    ...{ isTaker, assetId, side, orderId: isTaker ? trade.taker_order_id : maker.order_id },
    atomic: micro(isTaker ? trade.size : maker.matched_amount),
    priceMicro: micro(price),
    feeBps: BigInt(fee_rate_bps),
  };
}

/** A fee accumulates over an order, on what it receives. */
function moved(owns: readonly Own[]): Pick<Beliefs, 'usdcMicro' | 'tokens'> {
  const received = new Map<string, bigint>();
  const tokens = new Map<string, bigint>();
  let usdcMicro = 0n;
  for (const { orderId, assetId, side, atomic, priceMicro, feeBps } of owns) {
    const costMicro = (atomic * priceMicro) / MILLION;
    const before = received.get(orderId) ?? 0n;
    const after = before + (side === 'BUY' ? atomic : costMicro);
    received.set(orderId, after);
    const net = after - (after * feeBps) / BPS - (before - (before * feeBps) / BPS);
    usdcMicro += side === 'BUY' ? -costMicro : net;
    tokens.set(assetId, (tokens.get(assetId) ?? 0n) + (side === 'BUY' ? net : -atomic));
  }
  return { usdcMicro, tokens };
}
