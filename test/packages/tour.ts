/**
 * A client of one version asks an exchange of another. Its requests are the same each time, so that recorded answers
 * can be replayed.
 */
import type { ApiError, ExchangeClient, OpenSocket, Scope } from '../../shared/client/index.ts';

export const TOUR_SCOPES: Scope[] = ['read:account', 'trade:orders', 'stream:market'];
/** Salts make the orders, and so their hashes, the same each time. */
const SALTS = ['11', '12', '13'] as const;
const PAUSE_MS = 5;

/** @returns what the client has understood, without values that differ between exchanges */
export async function takeTour(client: ExchangeClient, marketId: string, openSocket?: OpenSocket): Promise<object> {
  const intent = { marketId, outcomeIndex: 0, side: 'BUY', price: '0.40', size: '10' } as const;
  const { status } = await client.market(marketId);
  const { ticks_per_unit } = await client.tickSize(marketId);
  const stream = await client.openStream(openSocket && { openSocket });
  const book = stream.openBook(marketId, { verify: 'every' });
  await book.ready();
  const order = await client.place(intent, { salt: SALTS[0] });
  while (book.best(0).bid === null) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  const seen = [book.state, book.best(0).bid?.price];
  stream.close();

  const { usdc } = await client.balances();
  const open = await client.openOrders(marketId);
  const next = await client.signOrder({ ...intent, price: '0.39' }, { salt: SALTS[1] });
  const replaced = await client.cancelReplace(order.hash, next.body);
  const tooMuch = client.place({ ...intent, size: '100000000' }, { salt: SALTS[2] });
  const refused = await tooMuch.then(
    () => 'accepted',
    (error: ApiError) => [error.status, error.code],
  );
  await client.cancelOrder(next.orderHash);
  const record = await client.getOrder(next.orderHash);
  const { orders } = await client.userOrders({ limit: 1 });
  return {
    market: [status, ticks_per_unit],
    placed: order.answer?.status,
    seen,
    reserved: usdc.reserved,
    open: open.map(({ price }) => price),
    replaced: replaced.order.status,
    refused,
    closed: [record.status, record.remaining, orders.map(({ price }) => price)],
  };
}
