/** The conversion of tokens of an event set into USDC and back (RULES.md 19.3), and what one would do now. */
import { SET_CONVERSION, SET_CONVERTED, type SetConverted } from '../../shared/api/events.ts';
import { described } from '../../shared/api/schema.ts';
import { isDecided, MARKET_STATUS, OUTCOME, type Outcome } from '../../shared/base/codes.ts';
import { ERRORS, errorRow, OK } from '../../shared/base/errors.ts';
import { CONVERSION, conversionMicro } from '../../shared/base/eventSets.ts';
import { EXT_ROUTE } from '../../shared/wire/commands.ts';
import type { Refusal } from '../base/refusal.ts';
import type { Call } from '../http/call.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog, EventEntry, MarketEntry } from '../markets/catalog.ts';
import type { EventSetCommands } from '../markets/eventSetCommands.ts';
import { isSet } from '../markets/eventSets.ts';
import type { ShardClient } from '../shardlink/client.ts';
import { refusalOf } from '../shardlink/refusal.ts';
import type { ReplyHandler } from '../shardlink/reply.ts';
import type { Views } from '../shardlink/views.ts';
import type { AccountStates } from './accountStates.ts';
import { convertUnlessDone } from './fundsRoutes.ts';
import type { AccountReads } from './reads.ts';

type SetConversionDeps = {
  readonly catalog: Pick<Catalog, 'eventById' | 'eventBySlug'>;
  readonly views: Views;
  readonly engine: ShardClient;
  readonly eventSets: EventSetCommands;
  readonly accountStates: AccountStates;
  readonly queries: Pick<AccountReads, 'convertedWithKey'>;
  readonly onError: (error: unknown, call: Call) => void;
};

const CONVERT = {
  method: 'POST',
  path: '/v1/events/:slug/convert',
  id: 'convertSet',
  summary: 'Turns No of some markets of an event set into USDC and Yes of the others, or back; a dry run only answers.',
  access: 'trade:orders',
  risk: 'taken',
  idempotency: EXT_ROUTE.CONVERT,
  params: { slug: described({ type: 'string', examples: ['who-wins'] }, 'The slug of the set, or its id.') },
  body: SET_CONVERSION,
  answers: { 200: SET_CONVERTED },
  errors: [
    'RESOURCE_NOT_FOUND',
    'NOT_A_SET',
    'ACCOUNT_FROZEN',
    'ACCOUNT_CLOSE_ONLY',
    'VALIDATION_ERROR',
    'MARKET_NOT_ACTIVE',
    'INVALID_LOT',
    'INSUFFICIENT_BALANCE',
    'RATE_LIMITED',
    'OUTCOME_UNKNOWN',
  ],
} as const satisfies RouteSpec;

type ConvertCall = CallOf<typeof CONVERT>;
type Change = { readonly market: MarketEntry; readonly outcome: Outcome; readonly atomic: number };
type Conversion = { readonly isToUsdc: boolean; readonly micro: number; readonly changes: readonly Change[] };

export function setConversionRoutes(deps: SetConversionDeps): Route[] {
  return [route(CONVERT, (call) => convert(call, deps))];
}

function convert(call: ConvertCall, deps: SetConversionDeps): void {
  const { accountStates, catalog } = deps;
  const { slug } = call.params;
  const event = catalog.eventBySlug(slug) ?? catalog.eventById(slug);
  if (event === undefined) return refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'event not found' });
  if (!isSet(event)) return refuse(call, { row: ERRORS.NOT_A_SET });
  const places = placesOf(call, event);
  if (places === null) return;
  const account = call.principal.accountIndex;
  const isToUsdc = call.body.direction === 'to_usdc';
  const restricted = isToUsdc ? accountStates.reducingRefusal(account) : accountStates.addingRefusal(account);
  if (restricted !== null) return refuse(call, { row: restricted });
  if (call.body.dry_run === true) return preview(call, event, deps);
  const [first] = event.markets;
  const send = (): void => {
    const onReply: ReplyHandler<ConvertCall> = (reply, asked) => {
      if (reply.code === OK) ok(asked, shown(asked, event, deps));
      else refuse(asked, refusalOf(reply, isToUsdc ? 'TOKEN' : assetOf(asked, event, deps)));
    };
    const direction = isToUsdc ? CONVERSION.TO_USDC : CONVERSION.FROM_USDC;
    const amount = Number(call.body.amount);
    const key = call.idempotencyHold?.words;
    const code = deps.eventSets.engine.convert(first, account, direction, places, amount, onReply, call, key);
    if (code !== OK) refuse(call, { row: errorRow(code) });
  };
  const done = (_: ConvertCall, convertedMs: number): void => ok(call, shown(call, event, deps, convertedMs));
  if (call.idempotencyHold?.mayHaveRun) void convertUnlessDone(deps, call, first.shard, done, send);
  else send();
}

/** The places of the chosen markets; null: refused. */
function placesOf(call: ConvertCall, event: EventEntry): number[] | null {
  const places = call.body.markets.map((id) => event.markets.findIndex((market) => market.id === id.toLowerCase()));
  const isWrong = (place: number, at: number): boolean => place < 0 || places.indexOf(place) < at;
  const wrong = places.findIndex(isWrong);
  if (wrong < 0) return places;
  const rule = places[wrong] < 0 ? 'of this event' : 'named once';
  const message = `market ${call.body.markets[wrong]} is not ${rule}`;
  refuse(call, { row: ERRORS.VALIDATION_ERROR, message, details: { field: 'markets', rule } });
  return null;
}

/**
 * The changes of the conversion, with the markets that are not eliminated.
 * @param atMs when it was carried out; by default now
 */
function conversionOf(
  { body }: ConvertCall,
  { markets }: EventEntry,
  { views }: SetConversionDeps,
  atMs = Number.POSITIVE_INFINITY,
): Conversion {
  const isToUsdc = body.direction === 'to_usdc';
  const chosen = new Set(body.markets.map((id) => id.toLowerCase()));
  const amount = Number(body.amount);
  const no = isToUsdc ? -amount : amount;
  const yes = chosen.size === 0 ? no : -no;
  const isLeft = ({ index }: MarketEntry): boolean => {
    return !isDecided(views.markets.status(index)) || views.markets.resolvedMs(index) >= atMs;
  };
  const left = markets.filter((market) => views.markets.has(market.index) && isLeft(market));
  const changes = left.map((market): Change => {
    const isNo = chosen.has(market.id);
    return { market, outcome: isNo ? OUTCOME.NO : OUTCOME.YES, atomic: isNo ? no : yes };
  });
  const micro = conversionMicro(chosen.size, amount);
  return { isToUsdc, micro: isToUsdc ? micro : 0 - micro, changes };
}

function shown(call: ConvertCall, event: EventEntry, deps: SetConversionDeps, atMs?: number): SetConverted {
  const { changes, micro } = conversionOf(call, event, deps, atMs);
  return {
    event_id: event.id,
    direction: call.body.direction,
    dry_run: call.body.dry_run === true,
    usdc_micro: String(micro),
    tokens: changes.map(({ market, outcome, atomic }) => {
      return { market_id: market.id, outcome_index: outcome, change_atomic: String(atomic) };
    }),
  };
}

/** Answers what the shard would, as far as the views show it. */
function preview(call: ConvertCall, event: EventEntry, deps: SetConversionDeps): void {
  const conversion = conversionOf(call, event, deps);
  const refusal = refusePreview(call, event, conversion, deps) ?? refuseShort(call, conversion, deps);
  if (refusal !== null) refuse(call, refusal);
  else ok(call, shown(call, event, deps));
}

function refusePreview(
  { body }: ConvertCall,
  { markets }: EventEntry,
  { changes, isToUsdc }: Conversion,
  { views }: SetConversionDeps,
): Refusal | null {
  const { ACTIVE, LOCKED } = MARKET_STATUS;
  const isOpen = ({ market: { index } }: Change): boolean => {
    const status = views.markets.status(index);
    return status === ACTIVE || (isToUsdc && status === LOCKED);
  };
  const chosen = changes.filter(({ outcome }) => outcome === OUTCOME.NO).length;
  const areLeft = isToUsdc ? chosen === body.markets.length : changes.length === markets.length;
  if (!areLeft || !changes.every(isOpen)) return { row: ERRORS.MARKET_NOT_ACTIVE };
  return Number(body.amount) === 0 ? { row: ERRORS.INVALID_LOT } : null;
}

function refuseShort(
  call: ConvertCall,
  { changes, micro }: Conversion,
  { views: { accounts } }: SetConversionDeps,
): Refusal | null {
  const account = call.principal.accountIndex;
  const available = accounts.availableMicro(account);
  if (micro < 0 && available < -micro) return short('USDC', -micro, available, accounts.reservedMicro(account));
  for (const { market, outcome, atomic } of changes) {
    const { availableAtomic, reservedAtomic } = accounts.tokens(account, market.index, outcome);
    if (atomic < 0 && availableAtomic < -atomic) return short('TOKEN', -atomic, availableAtomic, reservedAtomic);
  }
  return null;
}

function short(asset: 'USDC' | 'TOKEN', required: number, available: number, reserved: number): Refusal {
  const details = { asset, required: String(required), available: String(available), reserved: String(reserved) };
  return { row: ERRORS.INSUFFICIENT_BALANCE, details };
}

/** Of what the account has too little: the shard looks for the USDC first. */
function assetOf(call: ConvertCall, event: EventEntry, deps: SetConversionDeps): 'USDC' | 'TOKEN' {
  const { micro } = conversionOf(call, event, deps);
  return micro < 0 && deps.views.accounts.availableMicro(call.principal.accountIndex) < -micro ? 'USDC' : 'TOKEN';
}
