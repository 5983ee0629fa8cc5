/**
 * An order as a person enters it: by options, or in a file. A file has the names of the interface (`time_in_force`,
 * `client_order_id`) with a price and a size, or instead the exact amounts (`maker_amount`, `taker_amount`).
 */
import { OUTCOME, type Outcome, SELF_TRADE_NAMES, SIDE_NAMES, TIME_IN_FORCE_NAMES } from '../../../base/codes.ts';
import { NOT_A_NUMBER, tryParseUnits } from '../../../base/units.ts';
import type { ExchangeClient } from '../../client.ts';
import { ApiError } from '../../http.ts';
import { draftOrder, type OrderDraft, type OrderIntent, type OrderMarket } from '../../order.ts';
import type { SelfTradeName, SideName } from '../../types.ts';
import type { OptionSpecs } from './command.ts';
import { UsageError } from './errors.ts';
import { OUTCOME_OPTION, outcomeOf } from './outcomeNames.ts';

/** All options except the market, with which the file or the command line begins. */
export const ORDER_OPTIONS = {
  side: { value: 'side', description: 'buy or sell', choices: ['buy', 'sell'] },
  outcome: { ...OUTCOME_OPTION, fallback: 'yes' },
  price: { value: 'usdc', description: 'the limit, in USDC per token: 0.55' },
  size: { value: 'tokens', description: 'how many tokens: 12.5' },
  tif: {
    value: 'kind',
    description: 'GTC rests until cancelled, GTD until a time, FOK fills whole or not at all, FAK fills what it can',
    choices: ['gtc', 'gtd', 'fok', 'fak'],
  },
  'expires-in': { value: 'seconds', description: 'GTD: how long it may rest' },
  'expires-at': { value: 'time', description: 'GTD: until when (2026-10-01T12:00:00Z, or Unix seconds)' },
  'post-only': { description: 'refuse it instead of letting it trade at once' },
  'min-receive': { value: 'amount', description: 'FOK, FAK: the least to receive after fees, tokens or USDC' },
  'self-trade': { value: 'how', description: 'when it meets an own order', choices: SELF_TRADE_NAMES },
  'client-id': { value: 'name', description: 'your own name for it (client_order_id)' },
  group: { value: 'name', description: 'the order group it belongs to' },
  nonce: { value: 'number', description: 'part of what is signed; the floor of the wallet unless it is given' },
  salt: { value: 'number', description: 'part of what is signed; random unless it is given' },
  maker: { value: 'wallet', description: 'the wallet that pays, where yours is its delegate' },
} as const satisfies OptionSpecs;

export const SIDE_OF = { buy: 'BUY', sell: 'SELL' } as const;
export type SideWord = keyof typeof SIDE_OF;
const TIME_IN_FORCE_OF = { gtc: 'GTC', gtd: 'GTD', fok: 'FOK', fak: 'FAK' } as const;

export type OrderGiven = {
  readonly side: SideWord | undefined;
  readonly outcome: string;
  readonly price: string | undefined;
  readonly size: string | undefined;
  readonly tif: keyof typeof TIME_IN_FORCE_OF | undefined;
  readonly 'expires-in': string | undefined;
  readonly 'expires-at': string | undefined;
  readonly 'post-only': boolean;
  readonly 'min-receive': string | undefined;
  readonly 'self-trade': SelfTradeName | undefined;
  readonly 'client-id': string | undefined;
  readonly group: string | undefined;
  readonly nonce: string | undefined;
};

/** An order before its market is looked up, which a file may name in words. */
export type OrderForm = { readonly marketId: string; readonly draft: (market: QuotedMarket) => OrderDraft };

/** The facts about a market on which an order depends, its outcome names, and the nonce floor of the order's maker. */
export type QuotedMarket = {
  readonly market: OrderMarket;
  readonly feeRateBps: number;
  readonly nonceFloor: number;
  readonly title: string;
  readonly outcomes: readonly string[];
};

const SAFE_INTEGER = /^(?:0|[1-9]\d{0,15})$/;

export function formOf(marketId: string, given: OrderGiven, nowMs: number): OrderForm {
  const { side, price, size } = given;
  if (side === undefined || price === undefined || size === undefined) throw new UsageError(missingIn(given));
  const intent = { side: SIDE_OF[side], price, size, ...optionalParts(given, nowMs) };
  return {
    marketId,
    draft: (terms) => draftFrom({ ...intent, outcomeIndex: outcomeOf(given.outcome, terms.outcomes) }, terms),
  };
}

/** Lists everything that an order lacks, in one message. */
export function missingIn(given: Partial<OrderGiven> & { readonly market?: string | undefined }): string {
  const missing = (['side', 'price', 'size'] as const).filter((name) => given[name] === undefined);
  const words = [
    ...('market' in given && given.market === undefined ? ['a market'] : []),
    ...missing.map((name) => `--${name}`),
  ];
  return `an order needs ${words.join(', ')}, or --file`;
}

/** The parts that a new order takes over from an old one, unless they are given again. */
export function optionalParts(given: OrderGiven, nowMs: number): Partial<OrderIntent> {
  const expirationSec = expirationOf(given['expires-in'], given['expires-at'], nowMs);
  return {
    timeInForce: given.tif === undefined ? (expirationSec > 0 ? 'GTD' : 'GTC') : TIME_IN_FORCE_OF[given.tif],
    expirationSec,
    postOnly: given['post-only'],
    nonce: given.nonce === undefined ? undefined : numberOf('nonce', given.nonce),
    minTakerNet: given['min-receive'] === undefined ? undefined : unitsOf('min-receive', given['min-receive']),
    selfTradePrevention: given['self-trade'],
    clientOrderId: given['client-id'],
    orderGroup: given.group,
  };
}

/** Reads one order or a list of orders. */
export function formsOf(content: unknown): OrderForm[] {
  const rows = Array.isArray(content) ? content : [content];
  if (rows.length === 0) throw new UsageError('the file has no order');
  return rows.map((row, at) => {
    if (typeof row !== 'object' || row === null) throw new UsageError(`order ${at + 1} of the file is no object`);
    return formOfFile({ ...row }, at + 1);
  });
}

const FILE_FIELDS: readonly string[] = [
  'market_id',
  'market',
  'side',
  'outcome',
  'outcome_index',
  'price',
  'size',
  'time_in_force',
  'expiration',
  'post_only',
  'min_taker_net',
  'self_trade_prevention',
  'client_order_id',
  'order_group',
  'nonce',
  'fee_rate_bps',
];
/** With exact amounts the order is used unchanged; only the parts that signing creates are new. */
const EXACT_FIELDS: readonly string[] = [
  ...FILE_FIELDS,
  'token_id',
  'maker_amount',
  'taker_amount',
  'maker',
  'signer',
  'taker',
  'salt',
  'signature',
];

type Row = Readonly<Record<string, unknown>>;

function formOfFile(row: Row, number: number): OrderForm {
  const isExact = 'maker_amount' in row;
  const unknown = Object.keys(row).find((name) => !(isExact ? EXACT_FIELDS : FILE_FIELDS).includes(name));
  if (unknown !== undefined) throw new UsageError(`order ${number} of the file has an unknown field ${unknown}`);
  const { market_id: id, market: marketId = id } = row;
  if (typeof marketId !== 'string') throw new UsageError(`order ${number} of the file has no market and no market_id`);
  if (sideIn(row) === undefined) throw new UsageError(`the side of order ${number} of the file is buy or sell`);
  const given = row['outcome_index'];
  const index = Object.values(OUTCOME).find((each) => each === given);
  if (index !== given) throw new UsageError(`outcome_index of order ${number} is 0 or 1`);
  const draftOf = isExact ? exactDraft : fileDraft;
  const outcomeIn = ({ outcomes }: QuotedMarket) => index ?? outcomeOf(String(row['outcome'] ?? 'yes'), outcomes);
  return { marketId, draft: (terms) => draftOf(row, outcomeIn(terms), terms) };
}

function fileDraft(row: Row, outcomeIndex: Outcome, terms: QuotedMarket): OrderDraft {
  const postOnly = row['post_only'] ?? undefined;
  if (postOnly !== undefined && typeof postOnly !== 'boolean') throw new UsageError('post_only is true or false');
  const intent = {
    outcomeIndex,
    side: sideIn(row)!,
    price: String(row['price']),
    size: String(row['size']),
    timeInForce: nameIn(row, 'time_in_force', TIME_IN_FORCE_NAMES, 'GTC'),
    expirationSec: Number(row['expiration'] ?? 0),
    postOnly,
    nonce: Number(row['nonce'] ?? terms.nonceFloor),
    minTakerNet: textIn(row, 'min_taker_net'),
    selfTradePrevention: nameIn(row, 'self_trade_prevention', SELF_TRADE_NAMES, undefined),
    clientOrderId: textIn(row, 'client_order_id'),
    orderGroup: textIn(row, 'order_group'),
  };
  const feeRateBps = row['fee_rate_bps'] === undefined ? terms.feeRateBps : Number(row['fee_rate_bps']);
  return draftFrom(intent, { ...terms, feeRateBps });
}

function sideIn(row: Row): SideName | undefined {
  return SIDE_NAMES.find((name) => name === String(row['side']).toUpperCase());
}

/** A field of null is one that is left out. */
function textIn(row: Row, field: string): string | undefined {
  const value = row[field] ?? undefined;
  return value === undefined ? undefined : String(value);
}

function nameIn<N extends string, D>(row: Row, field: string, names: readonly N[], fallback: D): N | D {
  const text = textIn(row, field);
  if (text === undefined) return fallback;
  const found = names.find((name) => name.toLowerCase() === text.toLowerCase());
  if (found === undefined) throw new UsageError(`${field} ${text}: it is one of ${names.join(', ')}`);
  return found;
}

function exactDraft(row: Row, outcomeIndex: Outcome, { market, feeRateBps, nonceFloor }: QuotedMarket): OrderDraft {
  const { maker: _m, signer: _s, taker: _t, salt: _x, signature: _y, outcome: _o, market: _k, ...kept } = row;
  return {
    time_in_force: 'GTC',
    nonce: nonceFloor,
    fee_rate_bps: feeRateBps,
    token_id: outcomeIndex === OUTCOME.YES ? market.yes_token_id : market.no_token_id,
    ...kept,
    market_id: market.id,
    side: String(row['side']).toUpperCase(),
    outcome_index: outcomeIndex,
  } as OrderDraft;
}

/** A person may enter a price or size off the grid: that is a mistake of the command line. */
export function draftFrom(
  intent: Omit<OrderIntent, 'market' | 'feeRateBps'>,
  { market, feeRateBps, nonceFloor }: QuotedMarket,
): OrderDraft {
  try {
    return draftOrder({ ...intent, nonce: intent.nonce ?? nonceFloor, market, feeRateBps });
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}

/** @param maker a wallet of the account; for any other, the exchange will say that it is not one. */
export async function quotedMarket(client: ExchangeClient, marketId: string, maker: string): Promise<QuotedMarket> {
  const [market, { fee_bps, title, outcomes }, nonceFloor] = await Promise.all([
    client.orderMarket(marketId),
    client.market(marketId),
    floorOf(client, maker),
  ]);
  return { market, feeRateBps: fee_bps, nonceFloor, title, outcomes };
}

async function floorOf(client: ExchangeClient, maker: string): Promise<number> {
  try {
    return (await client.wallets.nonceFloor(maker)).nonce_floor;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return 0;
    throw error;
  }
}

/** "12.5" in atomic units. */
export function unitsOf(option: string, text: string): string {
  const units = tryParseUnits(text);
  if (units === NOT_A_NUMBER) throw new UsageError(`--${option} ${text} is not an amount of at most 6 decimals`);
  return String(units);
}

/** Undefined where the option is not given. */
export function optionalNumber(option: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : numberOf(option, text);
}

export function numberOf(option: string, text: string): number {
  if (!SAFE_INTEGER.test(text) || !Number.isSafeInteger(Number(text)))
    throw new UsageError(`--${option} ${text} is not a whole number`);
  return Number(text);
}

function expirationOf(within: string | undefined, at: string | undefined, nowMs: number): number {
  if (within !== undefined && at !== undefined)
    throw new UsageError('--expires-in and --expires-at exclude each other');
  if (within !== undefined) return Math.floor(nowMs / 1000) + numberOf('expires-in', within);
  if (at === undefined) return 0;
  if (SAFE_INTEGER.test(at)) return Number(at);
  return Math.floor(Date.parse(timeOf('expires-at', at)) / 1000);
}

export function timeOf(option: string, text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new UsageError(`--${option} ${text} is not a time (2026-10-01T12:00:00Z)`);
  return new Date(ms).toISOString();
}
