/** Orders and trades of an account in the shapes that their clients read. */
import { formatPrice, formatUnits } from '../../../shared/client/amounts.ts';
import type { OrderRecord, UserTrade } from '../../../shared/client/types.ts';
import { otherPrice, priceText } from './bookJson.ts';
import type { Catalogue, Listed } from './catalogue.ts';
import { hashOfOrderId, transactionOf } from './ids.ts';
import type { AccountRow, KeyRow, OrderRow, PolymarketStore } from './store.ts';

const PRICE_SCALE = 100_000_000n;
const STATUSES = {
  open: 'LIVE',
  partially_filled: 'LIVE',
  filled: 'MATCHED',
  cancelled: 'CANCELED',
  expired: 'CANCELED',
};
export type TradeStatus = 'MATCHED' | 'MINED' | 'CONFIRMED' | 'RETRYING' | 'FAILED';
const TRADE_STATUSES: Readonly<Record<UserTrade['settlement_status'], TradeStatus>> = {
  pending: 'MATCHED',
  submitted: 'MATCHED',
  mined: 'MINED',
  settled: 'CONFIRMED',
  failed: 'FAILED',
};

type Known = { readonly store: PolymarketStore; readonly catalogue: Catalogue };

/** The id under which an order is known here: the hash that its client signed, or else that of the exchange. */
export function idOf(store: PolymarketStore, orderHash: string): string {
  return store.orderOfHash(orderHash)?.id ?? orderHash;
}

/** Null for an order in a market that is not listed. */
export function orderJson(record: OrderRecord, key: KeyRow, { store, catalogue }: Known): object | null {
  const listed = catalogue.ofId(record.market_id);
  if (listed === null) return null;
  const row = store.orderOfHash(record.order_hash);
  const outcome = record.outcome_index;
  return {
    id: row?.id ?? record.order_hash,
    status: STATUSES[record.status],
    owner: row?.owner ?? key.key,
    maker_address: row?.maker ?? key.address,
    market: listed.conditionId,
    asset_id: listed.tokens[outcome],
    side: record.side,
    original_size: formatUnits(row === undefined ? sizeOf(record) : tokensOf(row)),
    size_matched: formatUnits(record.filled_token_quantity_atomic),
    price: priceText(record.price, listed),
    associate_trades: [],
    outcome: listed.market.outcomes[outcome],
    created_at: Math.floor(Date.parse(record.created_at) / 1000),
    expiration: String(row?.expiration_sec ?? 0),
    order_type: row?.kind ?? record.time_in_force,
  };
}

/** An order for an amount of USDC is several of the exchange, which are gone: it is what they did together. */
export function wholeJson(row: OrderRow, records: readonly OrderRecord[], key: KeyRow, known: Known): object | null {
  const [first] = records;
  if (first === undefined) return null;
  const filled = records.reduce((sum, { filled_token_quantity_atomic: each }) => sum + BigInt(each), 0n);
  const json = orderJson(first, key, known);
  return json === null
    ? null
    : { ...json, original_size: formatUnits(tokensOf(row)), size_matched: formatUnits(filled) };
}

export function tokensOf({ side, maker_amount, taker_amount }: OrderRow): bigint {
  return BigInt(side === 'BUY' ? taker_amount : maker_amount);
}

/** From the signed price, of which a buyer's amounts are the USDC. */
function sizeOf({ side, price, remaining, filled_amount }: OrderRecord): bigint {
  const gives = BigInt(remaining) + BigInt(filled_amount);
  if (side === 'SELL') return gives;
  const [whole, fraction = ''] = price.split('.');
  return (gives * PRICE_SCALE) / BigInt(`${whole}${fraction.padEnd(8, '0')}`);
}

type Party = {
  readonly id: string;
  readonly outcome: 0 | 1;
  readonly side: string;
  readonly row: OrderRow | undefined;
};

/**
 * One fill, with one maker. Of a maker who is a stranger to the account the exchange does not say the token: it stands
 * here on the other side of the taker's. Null where the facts of the fill are not certain, or the market is not listed.
 */
export function tradeJson(trade: UserTrade, key: KeyRow, account: Pick<AccountRow, 'address'>, known: Known) {
  const listed = known.catalogue.ofId(trade.market_id);
  const { role, party_side, party_outcome_index, token_quantity_atomic } = trade;
  if (listed === null || role === null || token_quantity_atomic === null) return null;
  const taker = partyOf(trade.taker_order_id, trade.outcome_index, trade.taker_side, known.store);
  const makerSide = trade.taker_side === 'BUY' ? 'SELL' : 'BUY';
  const isMaker = role === 'maker' && party_side !== null && party_outcome_index !== null;
  const maker = isMaker
    ? partyOf(trade.maker_order_id, party_outcome_index, party_side, known.store)
    : partyOf(trade.maker_order_id, trade.outcome_index, makerSide, known.store);
  const time = String(Math.floor(Date.parse(trade.matched_at) / 1000));
  const fee_rate_bps = String(listed.market.fee_bps);
  const own = { owner: key.key, maker_address: account.address };
  const ofTaker = role === 'taker' ? ownerOf(taker, own) : ownerOf(taker, { owner: '', maker_address: '' });
  const ofMaker = role === 'maker' ? ownerOf(maker, own) : ownerOf(maker, { owner: '', maker_address: '' });
  const size = formatUnits(token_quantity_atomic);
  return {
    id: trade.id,
    taker_order_id: taker.id,
    market: listed.conditionId,
    asset_id: listed.tokens[taker.outcome],
    side: trade.taker_side,
    size,
    fee_rate_bps,
    price: priceText(trade.price, listed),
    status: TRADE_STATUSES[trade.settlement_status],
    match_time: time,
    last_update: time,
    outcome: listed.market.outcomes[taker.outcome],
    bucket_index: 0,
    ...ofTaker,
    transaction_hash: transactionOf(trade.id),
    trader_side: role === 'taker' ? 'TAKER' : 'MAKER',
    maker_orders: [
      {
        order_id: maker.id,
        ...ofMaker,
        matched_amount: size,
        price: makerPrice(trade.price, maker.outcome === taker.outcome, listed),
        fee_rate_bps,
        asset_id: listed.tokens[maker.outcome],
        outcome: listed.market.outcomes[maker.outcome],
        side: maker.side,
      },
    ],
  };
}
export type TradeJson = NonNullable<ReturnType<typeof tradeJson>>;

function makerPrice(price: string, isSameToken: boolean, listed: Listed): string {
  return priceText(isSameToken ? price : otherPrice(price, listed), listed);
}

function partyOf(orderId: string, outcome: 0 | 1, side: string, store: PolymarketStore): Party {
  const row = store.orderOfId(orderId);
  if (row === undefined) return { id: hashOfOrderId(orderId), outcome, side, row };
  return { id: row.id, outcome: row.outcome_index === 0 ? 0 : 1, side: row.side, row };
}

function ownerOf({ row }: Party, otherwise: { readonly owner: string; readonly maker_address: string }) {
  return row === undefined ? otherwise : { owner: row.owner, maker_address: row.maker };
}

/** Of an order on the grid. */
export function priceOfRow({ side, maker_amount, taker_amount }: OrderRow, listed: Listed): string {
  const [usdc, tokens] = side === 'BUY' ? [maker_amount, taker_amount] : [taker_amount, maker_amount];
  const ticks = (BigInt(usdc) * BigInt(listed.ticksPerUnit)) / BigInt(tokens);
  return priceText(formatPrice(ticks, listed.ticksPerUnit), listed);
}
