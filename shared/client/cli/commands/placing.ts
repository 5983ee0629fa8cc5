/** Signing, placing, amending and replacing orders. */
import { errorOf } from '../../../base/thrown.ts';
import { leavesOpen } from '../../answers.ts';
import type { ExchangeClient, PlacingOptions } from '../../client.ts';
import type { SignedOrder, SigningOptions } from '../../order.ts';
import { typedOrder } from '../../orderSigning.ts';
import type { AmendResponse, BatchPlaceResponse, OrderRecord } from '../../types.ts';
import { command, type OptionSpecs, type Result } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { UsageError } from '../frame/errors.ts';
import { UnknownOrdersError } from '../frame/explain.ts';
import { MARKET_WORDS } from '../frame/marketNames.ts';
import {
  draftFrom,
  numberOf,
  ORDER_OPTIONS,
  type OrderGiven,
  optionalParts,
  type QuotedMarket,
  quotedMarket,
  SIDE_OF,
  type SideWord,
} from '../frame/orderForm.ts';
import { OUTCOME_OPTION, outcomeOf } from '../frame/outcomeNames.ts';
import { orderLines, placedLines, type Signing, signGiven } from '../frame/signing.ts';
import { MARKET_ORDER_OPTIONS } from '../frame/taking.ts';
import { columns, decimal, facts, shownPrice } from '../frame/text.ts';

const MARKET = { market: { description: MARKET_WORDS, optional: true } } as const;
const FILE = {
  file: { value: 'file', description: 'the order in JSON, or a list of them; - is standard input', file: true },
} as const satisfies OptionSpecs;
const SENDING = {
  'idempotency-key': { value: 'uuid', description: 'a repeat with the same key gets the answer of the first' },
  deadline: { value: 'ms', description: 'refuse it if it arrives later than so many milliseconds from now' },
} as const satisfies OptionSpecs;
const { side: _side, outcome: _outcome, price: _price, size: _size, ...REST_OPTIONS } = ORDER_OPTIONS;
/** An absent option is taken from the old order. */
const CHANGED_OPTIONS = {
  price: { value: 'usdc', description: 'the new limit; as it was unless given' },
  size: { value: 'tokens', description: 'the new size; what remains unless given' },
  outcome: { ...OUTCOME_OPTION, description: 'the token, yes, no or its name; as it was unless given' },
  ...REST_OPTIONS,
} as const satisfies OptionSpecs;

type Sending = { readonly 'idempotency-key': string | undefined; readonly deadline: string | undefined };
type Changed = Omit<OrderGiven, 'side' | 'outcome'> &
  Sending & { readonly hash: string; readonly outcome: string | undefined } & SigningOptions;

const sign = command({
  name: 'sign',
  summary: 'Sign an order and print it, without sending it',
  details:
    'Prints the typed data of EIP-712, the order hash, the signature and the body that POST /v1/orders takes, so ' +
    'that another implementation can be compared with this one. With --salt the result is always the same.',
  access: 'wallet',
  arguments: MARKET,
  options: { ...ORDER_OPTIONS, ...MARKET_ORDER_OPTIONS, ...FILE },
  examples: [
    'sign MARKET --side buy --price 0.55 --size 10',
    'sign MARKET --side sell --outcome no --price 0.40 --size 5 --tif fok --salt 7 --json',
    'sign --file order.json --json > signed.json',
  ],
  json: '`{typed_data, order_hash, signature, body}`, or a list of them for a list in the file',
  run: async (context, given) => {
    const { orders, domain, terms } = await signGiven(context, await context.reader(), given);
    const values = orders.map(({ body, orderHash }) => ({
      typed_data: typedOrder(body, domain),
      order_hash: orderHash,
      signature: body.signature,
      body,
    }));
    const lines = orders.flatMap((order, at) => [
      ...(at === 0 ? [] : ['']),
      ...orderLines(order, terms.get(order.body.market_id.toLowerCase())!),
      `signature   ${order.body.signature}`,
      'typed data',
      ...JSON.stringify(values[at].typed_data, null, 2).split('\n'),
    ]);
    return { value: values.length === 1 ? values[0] : values, lines };
  },
});

const place = command({
  name: 'place',
  summary: 'Place an order, or up to 15 from a file',
  details:
    'The order is signed here with the private key of your wallet; only the signature is sent. The hash is printed ' +
    'before it is sent, so that an order whose answer is lost can be looked up.',
  access: 'wallet',
  arguments: MARKET,
  options: { ...ORDER_OPTIONS, ...MARKET_ORDER_OPTIONS, ...FILE, ...SENDING },
  examples: [
    'place MARKET --side buy --price 0.55 --size 10',
    'place MARKET --side sell --outcome no --price 0.40 --size 5 --post-only',
    'place MARKET --side sell --size 20 --market-order',
    'place MARKET --side buy --price 0.60 --size 100 --tif fak --min-receive 50',
    'place MARKET --side buy --price 0.50 --size 10 --expires-in 3600',
    'place --file orders.json --json',
  ],
  json: 'the answer of POST /v1/orders, or of POST /v1/orders/batch for a list in the file',
  run: async (context, given) => {
    const client = await context.client();
    return sendSigned(context, client, await signGiven(context, client, given), placingOptions(context, given));
  },
});

const amend = command({
  name: 'amend',
  summary: 'Change the price or the size of an open order',
  details:
    'A smaller size keeps the queue position; anything else joins the queue anew. One step: never both orders. If ' +
    'the order is filled in the meantime nothing is changed (`REMAINING_CHANGED`): run it again.',
  access: 'wallet',
  arguments: { hash: { description: 'the order hash' } },
  options: { ...CHANGED_OPTIONS, ...SENDING },
  examples: ['amend 0x… --size 5', 'amend 0x… --price 0.56 --json'],
  json: 'the answer of PUT /v1/orders/{hash}/amend',
  run: async (context, given) => {
    const client = await context.client();
    const { order, terms, remaining } = await signChanged(context, client, given);
    for (const line of orderLines(order, terms)) context.note(line);
    return answered([order], async () => {
      const options = { ...placingOptions(context, given), expectedRemaining: remaining };
      const answer = await client.amendOrder(given.hash, order.body, options);
      return { value: answer, lines: amendedLines(answer) };
    });
  },
});

const replace = command({
  name: 'replace',
  summary: 'Cancel an order and place another in one step',
  details: 'When the new order is refused the old one stays. The side may change as well (--side).',
  access: 'wallet',
  arguments: { hash: { description: 'the hash of the order to cancel' } },
  options: { side: ORDER_OPTIONS.side, ...CHANGED_OPTIONS, ...SENDING },
  examples: ['replace 0x… --price 0.52 --size 20', 'replace 0x… --side sell --price 0.60 --size 20'],
  json: 'the answer of POST /v1/orders/cancel-replace',
  run: async (context, given) => {
    const client = await context.client();
    const { order, terms, remaining } = await signChanged(context, client, given, given.side);
    for (const line of orderLines(order, terms)) context.note(line);
    return answered([order], async () => {
      const options = { ...placingOptions(context, given), expectedRemaining: remaining };
      const answer = await client.cancelReplace(given.hash, order.body, options);
      return { value: answer, lines: [`cancelled   ${answer.cancelled_order_hash}`, ...placedLines(answer.order)] };
    });
  },
});

export const PLACING = [place, sign, amend, replace];

/** Prints what each order is, and sends them. */
export function sendSigned(
  context: Context,
  client: ExchangeClient,
  { orders, terms }: Pick<Signing, 'orders' | 'terms'>,
  options: PlacingOptions,
): Promise<Result> {
  for (const order of orders) {
    for (const line of orderLines(order, terms.get(order.body.market_id.toLowerCase())!)) context.note(line);
  }
  return answered(orders, async () => {
    const bodies = orders.map(({ body }) => body);
    if (orders.length > 1) return batchResult(await client.placeOrders(bodies, options));
    const answer = await client.placeOrder(bodies[0], options);
    return { value: answer, lines: placedLines(answer) };
  });
}

/** Signs the old order with the given changes, for the remainder as it was read: so a fill in between is noticed. */
async function signChanged(
  context: Context,
  client: ExchangeClient,
  given: Changed,
  side?: SideWord,
): Promise<{ order: SignedOrder; terms: QuotedMarket; remaining: string }> {
  const old = await client.getOrder(given.hash);
  if (old.status !== 'open' && old.status !== 'partially_filled') throw new UsageError(`the order is ${old.status}`);
  const { nowMs } = context.terminal.clock;
  const parts = optionalParts({ ...given, side: undefined, outcome: 'yes' }, nowMs.call(context.terminal.clock));
  const isTimed = given['expires-in'] !== undefined || given['expires-at'] !== undefined;
  if (given.tif === undefined && !isTimed && old.time_in_force === 'GTD') {
    throw new UsageError('the old order is GTD: give --expires-in or --expires-at');
  }
  const sideName = side === undefined ? old.side : SIDE_OF[side];
  const intent = {
    ...parts,
    side: sideName,
    price: given.price ?? old.price,
    size: given.size ?? decimal(remainingTokens(old)),
    postOnly: given['post-only'] || old.post_only,
    clientOrderId: given['client-id'] ?? old.client_order_id,
    orderGroup: given.group ?? old.order_group,
  };
  const signer = await context.signer(client);
  const terms = await quotedMarket(client, old.market_id, given.maker ?? signer.address);
  const outcomeIndex = given.outcome === undefined ? old.outcome_index : outcomeOf(given.outcome, terms.outcomes);
  const draft = draftFrom({ ...intent, outcomeIndex }, terms);
  const order = signer.sign(draft, { maker: given.maker, salt: given.salt });
  return { order, terms, remaining: old.remaining };
}

/** `remaining` is in the asset that the maker gives: for a BUY that is USDC, from which the price gives the tokens. */
function remainingTokens({ side, remaining, price }: Pick<OrderRecord, 'side' | 'remaining' | 'price'>): bigint {
  if (side === 'SELL') return BigInt(remaining);
  const [whole, fraction = ''] = price.split('.');
  const perToken = BigInt(whole + fraction);
  return (BigInt(remaining) * 10n ** BigInt(fraction.length)) / perToken;
}

function placingOptions({ terminal }: Context, given: Sending): PlacingOptions {
  const { deadline } = given;
  return {
    idempotencyKey: given['idempotency-key'],
    deadlineMs: deadline === undefined ? undefined : terminal.clock.nowMs() + numberOf('deadline', deadline),
  };
}

/** Unless the exchange has refused, the orders may have been placed. */
async function answered(orders: readonly SignedOrder[], send: () => Promise<Result>): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    if (!leavesOpen(error)) throw error;
    const hashes = orders.map(({ orderHash }) => orderHash);
    throw new UnknownOrdersError(hashes, errorOf(error));
  }
}

function batchResult(answer: BatchPlaceResponse): Result {
  const rows = answer.results.map((row) =>
    row.status === 'success'
      ? [row.index + 1, row.response.status, row.order_hash, '']
      : [row.index + 1, 'failed', row.code, row.error],
  );
  const lines = [
    ...columns(['row', 'status', 'order hash or code', 'error'], rows),
    `${answer.succeeded} of ${answer.total} placed`,
  ];
  return { value: answer, lines, isBad: answer.failed > 0 };
}

function amendedLines(answer: AmendResponse): string[] {
  const keeps = answer.time_priority ? 'kept' : 'joined anew';
  return [
    ...placedLines(answer),
    ...facts([
      ['limit', shownPrice(answer.price)],
      ['queue', keeps],
    ]),
  ];
}
