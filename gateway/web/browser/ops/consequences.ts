/** Says what an action will do, with the numbers that it concerns: a person reads it before confirming. */
import type {
  BackupReport,
  Book,
  Market,
  MarketHolders,
  Operations,
  ProfileWithBalance,
  Ticker,
} from '../../../../shared/client/types.ts';
import { outcomeName, units } from '../format.ts';
import { amountOf, bytes, count } from './numbers.ts';

export const MOST_LEVELS = 100;
const PPM = 1_000_000;
const NO_ORDERS = 'There are no open orders.';
const FINAL = 'This cannot be undone. A second operator approves it, if there is one.';

/** The orders, sets and holders of a market; null while they are not known. */
export type InMarket = { readonly book: Book; readonly ticker: Ticker; readonly holders: MarketHolders } | null;

export function pausing({ stages, shards }: Operations): string {
  const markets = stages.open + stages.post_only + stages.cancel_only;
  return (
    `New orders are refused in ${marketsIn(markets)}. ${ordersText(shards, 'stay, and can be cancelled')} ` +
    'Claims and reads go on. A restart does not end the pause.'
  );
}

export function resuming({ stages, stage }: Operations): string {
  const markets = stages.open + stages.post_only + stages.cancel_only;
  if (stage === 'open' && stages.open === markets) return `Orders are accepted again in ${marketsIn(markets)}.`;
  const trading = `${stages.open} of ${amountOf(markets, 'market')} trade again`;
  return `The pause ends: ${trading}, the others stay in their stage.`;
}

/** Says what a step of all markets leaves as it is. */
export function keptByStep({ shards }: Operations): string {
  return ordersText(shards, 'stay');
}

/** The same of one market. */
export function keptInMarket(within: InMarket): string {
  return bookText(within, 'stay');
}

export function pausingMarket(within: InMarket): string {
  return `New orders are refused in this market. ${bookText(within, 'stay, and can be cancelled')}`;
}

/** @param yesPpm what a token of Yes pays, in millionths of a USDC */
export function deciding(market: Pick<Market, 'outcomes'>, yesPpm: number, within: InMarket): string {
  const pays = [yesPpm, PPM - yesPpm].map((ppm, index) => `${outcomeName(market, index)} pays ${paysText(ppm)}`);
  const sets = within === null ? '' : ` ${holdersText(within)}; they get ${setsOf(within)} USDC in all.`;
  return `Each token of ${pays.join(', of ')}.${sets} ${bookText(within, 'are cancelled')} ${FINAL}`;
}

export function settling(within: InMarket): string {
  const most = within === null ? '' : `, ${setsOf(within)} USDC at most. ${holdersText(within)}`;
  return `Every holder who has not claimed is paid${most}.`;
}

function holdersText({ holders }: NonNullable<InMarket>): string {
  return `Accounts with tokens of it: ${count(holders.accounts)}`;
}

function setsOf({ ticker }: NonNullable<InMarket>): string {
  return units(ticker.open_interest_atomic);
}

const OF_STATE: Readonly<Record<ProfileWithBalance['state'], string>> = {
  active: 'The account may do everything again.',
  close_only: 'The account may only reduce what it holds; orders that would add to it are cancelled',
  frozen: 'The account may do nothing, and all its open orders are cancelled',
};

export function restricting(to: ProfileWithBalance['state'], { usdc }: ProfileWithBalance): string {
  if (to === 'active') return OF_STATE.active;
  const inOrders = `${units(usdc.reserved)} USDC in orders`;
  return `${OF_STATE[to]}. Its ${inOrders} and ${units(usdc.available)} USDC besides stay its own.`;
}

export function backingUp({ folder }: BackupReport, { disk }: Operations): string {
  const size = disk.files.reduce((sum, file) => sum + file.bytes, 0);
  return `${bytes(size)} are copied into ${folder}, 40 MB a second at most. Trading goes on.`;
}

function marketsIn(markets: number): string {
  return markets === 1 ? 'the market' : `all ${count(markets)} markets`;
}

function ordersText(shards: Operations['shards'], fate: string): string {
  const orders = shards.reduce((sum, { open_orders }) => sum + open_orders, 0);
  return orders === 0 ? NO_ORDERS : `Open orders: ${count(orders)}; they ${fate}.`;
}

/** An answer has so many prices of a side at most: beyond them there may be more orders. */
function bookText(within: InMarket, fate: string): string {
  if (within === null) return `Its open orders ${fate}.`;
  const levels = [within.book.bids, within.book.asks];
  const orders = levels.flat().reduce((sum, { num_orders }) => sum + num_orders, 0);
  if (orders === 0) return NO_ORDERS;
  const worth = levels.flat().reduce((sum, { notional_usdc_micro }) => sum + BigInt(notional_usdc_micro), 0n);
  const least = levels.some(({ length }) => length === MOST_LEVELS) ? 'at least ' : '';
  return `Open orders: ${least}${count(orders)}, worth ${units(worth)} USDC; they ${fate}.`;
}

function paysText(ppm: number): string {
  return ppm === 0 ? 'nothing' : `${units(String(ppm))} USDC`;
}
