/**
 * Parses clients' messages: strict JSON of a known form (frames.ts), or a refusal that explains the fault. No message
 * of a client makes it throw.
 */

import { ERRORS } from '../../shared/base/errors.ts';
import { namesOf, recordOf } from '../../shared/base/namesOf.ts';
import type { CandleInterval } from '../../shared/tables/candles.ts';
import type { Invalid, Refusal } from '../base/refusal.ts';
import { MAX_DEPTH, parseStrictJson } from '../http/body.ts';
import { compileBodyLater } from '../http/validate.ts';
import type { ChangePlace } from './changesSubscription.ts';
import type { OrderData } from './entryActions.ts';
import type { RequestId } from './entryConnection.ts';
import { CLIENT_MESSAGES } from './frames.ts';

/** A selection on the channel `market`. */
export type Named = {
  readonly markets?: readonly string[];
  readonly events?: readonly string[];
  readonly all?: boolean;
};
type MarketWanted = Named & { readonly snapshot?: boolean; readonly after?: ChangePlace };

type TickerNamed = { readonly markets?: readonly string[]; readonly all?: boolean };
export type SeriesNamed = {
  readonly markets: readonly string[];
  readonly interval: CandleInterval;
  readonly outcome_index?: 0 | 1;
};
type CandleWanted = SeriesNamed & { readonly after?: Readonly<Record<string, number>> };

export type SubscribeData = {
  readonly markets?: readonly string[];
  readonly user?: boolean;
  readonly snapshot?: boolean;
  readonly from_sequence?: Readonly<Record<string, number>>;
  readonly checksum?: boolean;
  readonly user_since?: number;
  readonly cancel_on_disconnect?: boolean;
  readonly market?: MarketWanted;
  readonly ticker?: TickerNamed;
  readonly candle?: CandleWanted;
};
export type UnsubscribeData = {
  readonly markets?: readonly string[];
  readonly user?: boolean;
  readonly market?: Named;
  readonly ticker?: TickerNamed;
  readonly candle?: SeriesNamed;
};

export type Request = { readonly id?: RequestId } & (
  | { readonly channel: 'subscribe'; readonly data: SubscribeData }
  | { readonly channel: 'unsubscribe'; readonly data: UnsubscribeData }
  | { readonly channel: 'ping' }
  | { readonly channel: 'order'; readonly id: RequestId; readonly data: OrderData }
);
export type Parsed<T extends Request['channel']> = Extract<Request, { channel: T }>;

export type ParsedRequest =
  | { readonly ok: true; readonly request: Request }
  | { readonly ok: false; readonly id: RequestId | undefined; readonly refusal: Refusal };

export function requestIdOf(parsed: ParsedRequest): RequestId | undefined {
  return parsed.ok ? parsed.request.id : parsed.id;
}

const checkChannel = compileBodyLater({
  type: 'object',
  required: ['channel'],
  properties: { channel: { type: 'string', enum: Object.keys(CLIENT_MESSAGES) } },
});
const checks = recordOf(namesOf(CLIENT_MESSAGES), (channel) => compileBodyLater(CLIENT_MESSAGES[channel].schema));

export function parseRequest(bytes: Buffer): ParsedRequest {
  const parsed = parseStrictJson(bytes, MAX_DEPTH + 1);
  if (!parsed.ok) return refuse(undefined, ofMessage(parsed));
  const { value } = parsed;
  const id = idOf(value);
  const invalid = checkChannel(value) ?? checks[(value as Request).channel](value);
  if (invalid !== null) return refuse(id, invalid);
  const request = value as Request;
  const misplaced = request.channel === 'subscribe' ? misplacedField(request.data) : null;
  return misplaced === null ? { ok: true, request } : refuse(id, misplaced);
}

/** Refuses an option without its subscription, which would be ignored; the schema cannot express this rule. */
function misplacedField(data: SubscribeData): Invalid | null {
  const markets = new Set(data.markets?.map((id) => id.toLowerCase()));
  const isUser = data.user === true;
  for (const id of Object.keys(data.from_sequence ?? {})) {
    if (!markets.has(id.toLowerCase())) return misplaced('from_sequence', 'markets');
  }
  if (data.user_since !== undefined && !isUser) return misplaced('user_since', 'user');
  if (data.cancel_on_disconnect === true && !isUser) return misplaced('cancel_on_disconnect', 'user');
  return misplacedOfChannels(data);
}

function misplacedOfChannels({ market, ticker, candle }: SubscribeData): Invalid | null {
  const names = (market?.markets?.length ?? 0) + (market?.events?.length ?? 0);
  if (market !== undefined && names === 0 && market.all !== true) return misplaced('market', 'markets, events or all');
  const isOfNone = (ticker?.markets ?? []).length === 0 && ticker?.all !== true;
  if (ticker !== undefined && isOfNone) return misplaced('ticker', 'markets or all');
  const markets = new Set(candle?.markets.map((id) => id.toLowerCase()));
  if (candle !== undefined && markets.size === 0) return misplaced('candle', 'markets');
  for (const id of Object.keys(candle?.after ?? {})) {
    if (!markets.has(id.toLowerCase())) return misplaced('candle.after', 'candle.markets');
  }
  return null;
}

function misplaced(name: string, needs: string): Invalid {
  return { message: `invalid ${name}`, details: { field: `data.${name}`, rule: `needs ${needs}` } };
}

function refuse(id: RequestId | undefined, { message, details }: Invalid): ParsedRequest {
  return { ok: false, id, refusal: { row: ERRORS.VALIDATION_ERROR, message, details } };
}

/** The JSON parser is made for request bodies, so its refusals say `body`. */
function ofMessage({ message, details }: Invalid): Invalid {
  const field = details.field === 'body' ? 'message' : details.field;
  return { message: message.replace('body', 'message'), details: { ...details, field } };
}

/** The id of a message, also of a refused one, if it can be read. */
function idOf(value: unknown): RequestId | undefined {
  if (typeof value !== 'object' || value === null || !('id' in value)) return undefined;
  const { id } = value;
  if (typeof id === 'string') return id.length <= 64 ? id : undefined;
  return typeof id === 'number' && Number.isSafeInteger(id) ? id : undefined;
}
