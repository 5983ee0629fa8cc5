/**
 * The arguments of a read that its declaration allows: for each parameter of its path and query some values, among them
 * the ends of its range. A value may differ with each request, because answers to the same question are shared.
 */

import type { Route } from '../gateway/http/route.ts';
import type { JsonSchema } from '../shared/api/schema.ts';
import { assert } from '../shared/base/assert.ts';
import type { Random } from '../test/support/random.ts';
import { WORDS } from './catalogueHistory.ts';
import type { Known } from './readExchange.ts';

/** @param at the number of the request, for which it returns the value; null: the parameter is left out */
export type Value = { readonly label: string; readonly at: ((request: number) => string) | null };
export type Arguments = ReadonlyMap<string, Value>;
/** A parameter, and a function that draws a value for it. */
export type Parameter = { readonly name: string; readonly draw: (random: Random) => Value };

const LEFT_OUT: Value = { label: '', at: null };
/** Used where a range has no end. */
const FAR = 200_000;
const NOWHERE = '0190a0b0-c0d0-7000-8000-0000000000af';
const NO_HASH = `0x${'ab'.repeat(32)}`;
const DAY_MS = 86_400_000;
const SEARCH_LENGTH = 200;

export function parametersOf(route: Route, known: Known, cursors: readonly string[]): Parameter[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => {
    const values = pathValues(route.path, name, known);
    return { name: `:${name}`, draw: (random: Random) => oneOf(values, random) };
  });
  const { properties = {} } = (route.query ?? {}) as { readonly properties?: Readonly<Record<string, JsonSchema>> };
  const inQuery = Object.entries(properties).map(([name, schema]) => {
    const draw = drawOf(route.path, name, schema as Described, known, cursors);
    return { name, draw: (random: Random) => (random.below(4) === 0 ? LEFT_OUT : draw(random)) };
  });
  return [...inPath, ...inQuery];
}

type Described = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
  readonly examples?: readonly unknown[];
};

function drawOf(
  path: string,
  name: string,
  schema: Described,
  known: Known,
  cursors: readonly string[],
): (random: Random) => Value {
  if (schema.enum !== undefined) return (random) => just(String(oneOf(schema.enum!, random)));
  if (schema.type === 'boolean') return (random) => just(String(random.below(2) === 1));
  if (name === 'cursor') return (random) => oneOf(cursorValues(cursors), random);
  if (schema.type === 'integer' || schema.type === 'number') return (random) => numberOf(schema, random);
  if (name === 'search') return searched;
  const values = NAMED[name]?.(known) ?? valuesOf(schema, known);
  assert(values.length > 0, `reads: ${path} has a parameter ${name} for which there are no values`);
  return (random) => oneOf(values, random);
}

function valuesOf({ format, examples = [] }: Described, known: Known): Value[] {
  if (format === 'uuid') return marketValues(known);
  if (format === 'date-time-or-utc') {
    return [
      just(new Date(Date.now() - 3000 * DAY_MS).toISOString()),
      just(new Date(Date.now() - DAY_MS).toISOString()),
    ];
  }
  return examples.map((example) => just(String(example)));
}

/** Values for text parameters without a list of values. */
const NAMED: Readonly<Record<string, (known: Known) => Value[]>> = {
  status: () => [
    ...['active', 'live', 'upcoming', 'finished', 'resolved', 'open', 'cancelled', 'all', 'accrued', 'nothing'].map(
      just,
    ),
    just('open,partially_filled,filled,cancelled,expired'),
    just('open,filled'),
    just('expired'),
  ],
  category: () => ['Sports', 'Weather', 'nothing'].map(just),
  deploy_status: () => ['pending', 'deployed', 'failed', 'not_deployed', 'nothing'].map(just),
  sport_league: () => ['NPL', 'SLC', 'nothing'].map(just),
  sort: () =>
    ['created_at', 'updated_at', 'title', 'trading_starts_at', 'trading_ends_at', 'status', 'total_volume'].map(just),
  order: () => ['asc', 'desc'].map(just),
  address: (known) => [just(known.address)],
  signer: (known) => [just(known.address)],
  after: () => [just(''), just(`1-${NO_HASH}`)],
  ticket: () => [just('a-ticket-that-nobody-has')],
  redirect_path: () => [just('/portfolio'), just(`/${'p'.repeat(500)}`)],
};

/** The values of a path parameter: `id` has different meanings. */
function pathValues(path: string, name: string, known: Known): Value[] {
  if (name === 'market_id' || (name === 'id' && path.startsWith('/v1/markets/'))) return marketValues(known);
  if (path === '/markets/:id') return marketValues(known);
  if (name === 'slug') return [just(known.largeEvent), each('another event each time', known.events), just('nothing')];
  if (name === 'hash') return [just(known.openHash), just(known.filledHash), just(NO_HASH)];
  if (name === 'id') return [just(NOWHERE), each('another id each time', known.markets)];
  if (name === 'address' || name === 'from') return [just(known.address)];
  if (name === 'nonce') return [just(NO_HASH)];
  if (name === 'provider') return ['google', 'privy', 'nobody'].map(just);
  const files = known.files[path];
  assert(
    files !== undefined && files.length > 0,
    `reads: ${path} has a parameter ${name} for which there are no values`,
  );
  return [...files.map(just), just('nothing')];
}

function marketValues(known: Known): Value[] {
  return [
    { ...just(known.busyMarket), label: 'the busiest' },
    { ...just(known.seriesMarket), label: 'one of a long series' },
    each('another market each time', known.markets),
    just(NOWHERE),
  ];
}

function cursorValues(cursors: readonly string[]): Value[] {
  return cursors.length === 0 ? [LEFT_OUT] : [each('of an answer', cursors), just(cursors[0])];
}

function numberOf({ minimum = 0, maximum, type }: Described, random: Random): Value {
  const most = Math.min(maximum ?? FAR, Number.MAX_SAFE_INTEGER);
  const spread = Math.floor((most - minimum) ** (random.below(1000) / 1000));
  const from = oneOf([minimum, most, minimum + spread, most - spread], random);
  if (type === 'number') return just(String(from));
  // Another number for each request, within the range.
  if (random.below(2) === 0 || most === minimum) return just(String(from));
  return {
    label: `from ${from} on`,
    at: (request) => String(minimum + ((from - minimum + request) % (most - minimum + 1))),
  };
}

/** Words contained in few, many or all texts, once or several times, and beginnings of words. */
function searched(random: Random): Value {
  const kinds = [
    () => oneOf(WORDS, random),
    () => `${oneOf(WORDS, random)} ${oneOf(WORDS, random)}`,
    () => `${oneOf(WORDS, random)} ${random.below(100_000)}`,
    () => String(random.below(10)),
    () => 'will the beat game yes if first side has',
    () => `${oneOf(['w', 'wi', 'th', 'the', 'res', '1'], random)} `.repeat(SEARCH_LENGTH / 4).slice(0, SEARCH_LENGTH),
    () => Array.from({ length: 40 }, (_, index) => String.fromCharCode(97 + (index % 26))).join(' '),
    () => oneOf(['w', 'wi', 'wil', 'th', 'g', 'ga', 's', 'a', 'h'], random),
  ];
  return just(oneOf(kinds, random)());
}

function just(text: string): Value {
  return { label: text, at: () => text };
}

function each(label: string, values: readonly string[]): Value {
  return { label, at: (request) => values[(request * 7919) % values.length] };
}

function oneOf<T>(values: readonly T[], random: Random): T {
  return values[random.below(values.length)];
}
