/** Makes signed orders from a person's input, and describes them in words. */
import type { Eip712Domain } from '../../../crypto/eip712.ts';
import type { ExchangeClient } from '../../client.ts';
import type { OrderDraft, SignedOrder } from '../../order.ts';
import type { OrderSigner } from '../../orderSigner.ts';
import type { Fill, PlacementResponse } from '../../types.ts';
import type { Context } from './context.ts';
import { UsageError } from './errors.ts';
import {
  formOf,
  formsOf,
  missingIn,
  type OrderForm,
  type OrderGiven,
  type QuotedMarket,
  quotedMarket,
  SIDE_OF,
  unitsOf,
} from './orderForm.ts';
import { takingOf } from './taking.ts';
import { decimal, facts, outcomeName, shownPrice } from './text.ts';

type Signers = { readonly maker?: string | undefined; readonly salt?: string | undefined };
type Ordering = OrderGiven &
  Signers & {
    readonly market: string | undefined;
    readonly file: string | undefined;
    readonly 'market-order': boolean;
    readonly 'max-slippage': string;
  };
export type Signing = {
  readonly signer: OrderSigner;
  readonly domain: Eip712Domain;
  readonly orders: SignedOrder[];
  /** By the ids of their markets. */
  readonly terms: ReadonlyMap<string, QuotedMarket>;
};

/** Signs the order of the command line, or all orders of the file. */
export async function signGiven(context: Context, client: ExchangeClient, given: Ordering): Promise<Signing> {
  const forms = await formsGiven(context, client, given);
  if (forms.length > 1 && given.salt !== undefined) throw new UsageError('--salt is for one order');
  const markets = [...new Set(forms.map(({ marketId }) => marketId.toLowerCase()))];
  const terms = new Map<string, QuotedMarket>();
  const signer = await context.signer(client);
  const maker = given.maker ?? signer.address;
  for (const id of markets) terms.set(id, await quotedMarket(client, id, maker));
  const drafts = forms.map(({ marketId, draft }) => draft(terms.get(marketId.toLowerCase())!));
  const domain = await client.signingDomain();
  return {
    signer,
    domain,
    terms,
    orders: drafts.map((draft) => signer.sign(draft, { maker: given.maker, salt: given.salt })),
  };
}

async function formsGiven(context: Context, client: ExchangeClient, given: Ordering): Promise<OrderForm[]> {
  const { file, market } = given;
  if (file !== undefined && market !== undefined) throw new UsageError('the market is in the file: give one of both');
  if (file !== undefined) return withIds(context, formsOf(await context.readJson(file)));
  if (market === undefined) throw new UsageError(missingIn(given));
  const id = given['market-order'] ? await context.marketId(market) : market;
  const priced = given['market-order'] ? await pricedByBook(context, client, id, given) : given;
  const form = formOf(id, priced, context.terminal.clock.nowMs());
  return [{ ...form, marketId: await context.marketId(id) }];
}

/** A market that many orders name is looked up once. */
async function withIds(context: Context, forms: readonly OrderForm[]): Promise<OrderForm[]> {
  const ids = new Map<string, string>();
  for (const { marketId: named } of forms) if (!ids.has(named)) ids.set(named, await context.marketId(named));
  return forms.map((form) => ({ ...form, marketId: ids.get(form.marketId)! }));
}

async function pricedByBook(context: Context, client: ExchangeClient, id: string, given: Ordering): Promise<Ordering> {
  const { side, size, price, outcome, 'max-slippage': maxSlippage } = given;
  if (price !== undefined) throw new UsageError('--market-order and --price exclude each other');
  if (side === undefined || size === undefined) throw new UsageError(missingIn({ ...given, price: '' }));
  const wanted = { side: SIDE_OF[side], outcome: await context.outcome(id, outcome), maxSlippage };
  const { limitPrice } = await takingOf(client, id, { size: BigInt(unitsOf('size', size)) }, wanted);
  return { ...given, price: limitPrice, tif: given.tif ?? 'fak' };
}

type Words = Pick<QuotedMarket, 'title' | 'outcomes'>;

/** Describes the order: what it gives at most, and for what. */
export function orderLines({ body, orderHash }: SignedOrder, { title, outcomes }: Words): string[] {
  const { side, maker_amount, taker_amount, fee_rate_bps } = body;
  const isBuy = side === 'BUY';
  const outcome = outcomes[body.outcome_index] ?? outcomeName(body.outcome_index);
  const tokens = decimal(isBuy ? taker_amount : maker_amount);
  const usdc = decimal(isBuy ? maker_amount : taker_amount);
  const fee = `${decimal(fee_rate_bps * 10_000)}%`;
  return facts([
    ['order', `${side} ${tokens} ${outcome} at ${priceOf(body)}, ${kindOf(body)}`],
    ['market', title],
    ['gives', isBuy ? `${usdc} USDC at most` : `${tokens} ${outcome}`],
    ['for', `${isBuy ? `${tokens} tokens` : `${usdc} USDC at least`}, less a fee of up to ${fee}`],
    ['order hash', orderHash],
  ]);
}

function kindOf({ time_in_force, post_only, expiration }: OrderDraft): string {
  const until = expiration ? ` until ${new Date(expiration * 1000).toISOString()}` : '';
  return `${time_in_force ?? 'GTC'}${until}${post_only ? ', post-only' : ''}`;
}

/** Exact if the price has at most six decimals, as every price on a grid has. */
function priceOf({ side, maker_amount, taker_amount }: OrderDraft): string {
  const [usdc, tokens] = side === 'BUY' ? [maker_amount, taker_amount] : [taker_amount, maker_amount];
  return shownPrice(decimal((BigInt(usdc) * 1_000_000n) / BigInt(tokens)));
}

export function placedLines({ order_id, order_hash, status, fills = [] }: PlacementResponse): string[] {
  const rows = fills.map((fill): [string, string] => ['fill', fillText(fill)]);
  const tokens = fills.reduce((sum, fill) => sum + BigInt(fill.token_quantity_atomic), 0n);
  const usdc = fills.reduce((sum, fill) => sum + BigInt(fill.notional_usdc_micro), 0n);
  const all = fills.length > 1 ? `${decimal(tokens)} tokens for ${decimal(usdc)} USDC` : undefined;
  return facts([['order id', order_id], ['order hash', order_hash], ['status', status], ...rows, ['in all', all]]);
}

function fillText({ token_quantity_atomic, price, match_type, notional_usdc_micro }: Fill): string {
  const sum = `${decimal(notional_usdc_micro)} USDC, ${match_type}`;
  return `${decimal(token_quantity_atomic)} at ${shownPrice(price)} (${sum})`;
}
