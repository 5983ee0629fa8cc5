/** Checks whether an order of this wallet would be accepted, and whether the streams are open. */
import { memberOf } from '../../../base/memberOf.ts';
import { errorMessage } from '../../../base/thrown.ts';
import { tickToPrice } from '../../../base/units.ts';
import type { ExchangeClient } from '../../client.ts';
import { ApiError } from '../../http.ts';
import { draftOrder } from '../../order.ts';
import { OrderSigner } from '../../orderSigner.ts';
import { decimal } from '../frame/text.ts';
import { addressIn } from './account.ts';
import { type Finding, fail, ok, type Patient, skip, warn } from './finding.ts';

/**
 * The exchange checks the signature before the fee. So an order that is signed for a fee that the market does not have
 * is refused because of the fee if its signature is right. Such an order can never be placed.
 */
export async function checkSignature(patient: Patient): Promise<Finding> {
  const { context, profile, marketId, scopes, maker } = patient;
  if (profile === null) return skip('signature', 'not signed in');
  const key = context.access.privateKeyOrNone(profile.linked_wallets);
  if (key === null || addressIn(key) === null) return skip('signature', 'no private key to sign with');
  if (marketId === null) return skip('signature', 'no market is active');
  if (!scopes.includes('trade:orders')) return skip('signature', 'the key may not trade');
  const client = await context.client();
  const refusal = await tryOrder(client, key, marketId, maker);
  if (refusal === null || refusal.code === 'FEE_RATE_MISMATCH') {
    return ok('signature', 'the exchange accepts what this wallet signs; no order was placed');
  }
  const advice = ADVICE[refusal.code];
  const message = `a test order was refused: ${refusal.message} (${refusal.code})`;
  return advice === undefined ? warn('signature', message, 'try again later') : fail('signature', message, advice);
}

const ADVICE: Readonly<Record<string, string>> = {
  INVALID_SIGNATURE: 'use the client of this version: the domain or the type of the signed data differs',
  FORBIDDEN: 'link the wallet (pmx wallet link), or sign with one that is linked',
  ACCOUNT_FROZEN: 'ask the operator of the exchange why',
};

async function tryOrder(
  client: ExchangeClient,
  key: string,
  marketId: string,
  maker: string | undefined,
): Promise<ApiError | null> {
  const [market, tickSize, { fee_bps }] = await Promise.all([
    client.orderMarket(marketId),
    client.tickSize(marketId),
    client.market(marketId),
  ]);
  const signer = new OrderSigner(key, await client.signingDomain());
  const price = tickToPrice(1, market.ticks_per_unit);
  const size = decimal(tickSize.min_order_size_atomic);
  const feeRateBps = fee_bps + 1;
  const draft = draftOrder({ market, outcomeIndex: 0, side: 'BUY', price, size, feeRateBps, postOnly: true });
  const { body, orderHash } = signer.sign(draft, { maker });
  try {
    await client.placeOrder(body);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  // In this moment the fee has changed to the fee of the test.
  await client.cancelOrder(orderHash);
  return null;
}

export async function checkStream(patient: Patient): Promise<Finding> {
  const { context, isReached, marketId } = patient;
  if (!isReached) return skip('stream', 'the exchange was not reached');
  if (marketId === null) return skip('stream', 'no market is active');
  const stream = await context.stream({ isPrivate: false });
  try {
    const book = stream.openBook(marketId, { verify: 'every' });
    await inTime(book.ready(), context.timeoutMs);
    return ok('stream', `the book of a market came, and its checksum is right at ${book.sequence}`);
  } catch (error) {
    return fail('stream', errorMessage(error), 'a proxy or firewall may not pass WebSockets: allow /v1/ws');
  } finally {
    stream.close();
  }
}

export async function checkPrivateStream(patient: Patient): Promise<Finding> {
  const { context, profile } = patient;
  if (profile === null) return skip('private stream', 'not signed in');
  const stream = await context.stream({ isPrivate: true });
  try {
    await inTime(stream.openUser().ready(), context.timeoutMs);
    return ok('private stream', 'open: fills and orders arrive as they happen');
  } catch (error) {
    const [code, message] = [memberOf(error, 'code'), errorMessage(error)];
    if (code === 'INSUFFICIENT_SCOPE') {
      return warn('private stream', message, 'have an operator issue a key with stream:user');
    }
    return fail(
      'private stream',
      message,
      'a proxy may strip the headers of the key: connect to the exchange directly',
    );
  } finally {
    stream.close();
  }
}

function inTime(ready: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it does not open in time')), timeoutMs);
  });
  return Promise.race([ready, late]).finally(() => clearTimeout(timer));
}
