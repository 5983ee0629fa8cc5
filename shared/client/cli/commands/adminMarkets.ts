/** Operators' commands for the catalogue: events and markets, their start, pause and end. */
import { TICKS_PER_UNIT } from '../../../base/codes.ts';
import type { Market, MarketPatch, NewEvent, NewMarket, Payouts } from '../../types.ts';
import { countsText, exportFile, importFile } from '../frame/catalogueFiles.ts';
import { command, type OptionSpecs, type Result } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { UsageError } from '../frame/errors.ts';
import { MARKET_WORDS } from '../frame/marketNames.ts';
import { numberOf, timeOf, unitsOf } from '../frame/orderForm.ts';
import { OUTCOME_OPTION } from '../frame/outcomeNames.ts';
import { facts } from '../frame/text.ts';

const MARKET = { market: { description: MARKET_WORDS } } as const;
const FILE = {
  file: { value: 'file', description: 'the body of the request in JSON; - is standard input', file: true },
} as const satisfies OptionSpecs;
const PAYOUTS = {
  payouts: { value: 'yes,no', description: 'a share for both, in USDC: 0.25,0.75' },
} as const satisfies OptionSpecs;
const PPM = 1_000_000;

export const ADMIN_MARKETS = [
  command({
    name: 'admin markets create',
    summary: 'Make a market',
    details: 'Everything that the options do not have is given with --file, the body of POST /admin/markets.',
    options: {
      title: { value: 'text', description: 'the question' },
      description: { value: 'text', description: 'when it is Yes' },
      category: { value: 'name', description: 'the category' },
      'ends-at': { value: 'time', description: 'the end of trading: 2026-12-31T00:00:00Z' },
      event: { value: 'event', description: 'the event it belongs to: its slug or id' },
      'fee-bps': { value: 'number', description: 'the fee in hundredths of a percent' },
      ticks: { value: 'number', description: 'steps of the price in a USDC', choices: TICKS_PER_UNIT.map(String) },
      'min-size': { value: 'tokens', description: 'the smallest order' },
      status: { value: 'name', description: 'the first status', choices: ['draft', 'pending', 'active'] },
      ...FILE,
    },
    examples: [
      'admin markets create --title "Will it rain?" --description "If it does." --category Rain --ends-at 2027-01-01',
      'admin markets create --file market.json',
    ],
    json: 'the answer of POST /admin/markets',
    run: async (context, given) => {
      const fromFile = given.file === undefined ? {} : ((await context.readJson(given.file)) as object);
      const event = given.event === undefined ? undefined : await context.operated.eventId(given.event);
      const body = { ...fromFile, ...marketFields({ ...given, event }) } as NewMarket;
      return marketResult(await context.admin().createMarket(body));
    },
  }),
  command({
    name: 'admin markets update',
    summary: 'Change a market with the body of PATCH /admin/markets/{id}',
    details: 'What people rely on who have bought needs a second operator where there is one, as resolving does.',
    arguments: MARKET,
    options: { file: { ...FILE.file, required: true } },
    examples: ['admin markets update MARKET --file change.json'],
    json: 'the answer of PATCH /admin/markets/{id}',
    run: async (context, { market, file }) => {
      const id = await context.operated.marketId(market);
      return marketResult(await context.admin().patchMarket(id, (await context.readJson(file)) as MarketPatch));
    },
  }),
  ...(
    [
      ['pause', 'locked', 'Lock a market: no orders are accepted, cancels still work'],
      ['resume', 'active', 'Let a locked or pending market trade'],
    ] as const
  ).map(([name, status, summary]) =>
    command({
      name: `admin markets ${name}`,
      summary,
      arguments: MARKET,
      examples: [`admin markets ${name} MARKET`],
      json: 'the answer of PATCH /admin/markets/{id}',
      run: async (context, { market }) =>
        marketResult(await context.admin().patchMarket(await context.operated.marketId(market), { status })),
    }),
  ),
  command({
    name: 'admin markets resolve',
    summary: 'Decide a market; its open orders are cancelled and holders may claim',
    details: 'Large markets need a second operator: the exit code is 1 then, and the id of the approval is printed.',
    arguments: MARKET,
    options: { outcome: { ...OUTCOME_OPTION, description: 'what has won: yes, no or its name' }, ...PAYOUTS },
    examples: ['admin markets resolve MARKET --outcome yes', 'admin markets resolve MARKET --payouts 0.5,0.5'],
    json: 'the answer of POST /admin/markets/{id}/resolve',
    run: async (context, { market, outcome, payouts }) => {
      if ((outcome === undefined) === (payouts === undefined)) throw new UsageError('give --outcome or --payouts');
      const id = await context.operated.marketId(market);
      const resolution =
        outcome === undefined
          ? { payouts: payoutsOf(payouts!) }
          : { outcome_index: await context.operated.outcome(id, outcome) };
      return marketResult(await context.admin().resolveMarket(id, resolution as { payouts: Payouts }));
    },
  }),
  command({
    name: 'admin markets cancel',
    summary: 'End a market without an answer: every token pays half a USDC, or --payouts',
    arguments: MARKET,
    options: PAYOUTS,
    examples: ['admin markets cancel MARKET'],
    json: 'the answer of POST /admin/markets/{id}/cancel',
    run: async (context, { market, payouts }) => {
      const shares = payouts === undefined ? undefined : payoutsOf(payouts);
      return marketResult(await context.admin().cancelMarket(await context.operated.marketId(market), shares));
    },
  }),
  command({
    name: 'admin markets settle',
    summary: 'Pay every holder of a decided market that has not claimed',
    arguments: MARKET,
    examples: ['admin markets settle MARKET'],
    json: 'the answer of POST /admin/markets/{id}/settle',
    run: async (context, { market }) =>
      marketResult(await context.admin().settleMarket(await context.operated.marketId(market))),
  }),
  command({
    name: 'admin markets deploy',
    summary: 'Deploy a market, also one whose deployment was given up',
    arguments: MARKET,
    examples: ['admin markets deploy MARKET'],
    json: 'the answer of POST /admin/markets/{id}/deploy',
    run: async (context, { market }) => {
      const answer = await context.admin().deployMarket(await context.operated.marketId(market));
      return { value: answer, lines: [answer.status] };
    },
  }),
  command({
    name: 'admin events create',
    summary: 'Make an event, to which markets then belong',
    options: {
      title: { value: 'text', description: 'the title' },
      slug: { value: 'name', description: 'its name in addresses' },
      category: { value: 'name', description: 'the category' },
      ...FILE,
    },
    examples: ['admin events create --title "General election" --slug general-election --category Politics'],
    json: 'the answer of POST /admin/events',
    run: async (context, { title, slug, category, file }) => {
      const fromFile = file === undefined ? {} : ((await context.readJson(file)) as object);
      const body = { ...fromFile, ...defined({ title, slug, category }) } as NewEvent;
      const event = await context.admin().createEvent(body);
      return {
        value: event,
        lines: facts([
          ['event', event.id],
          ['slug', event.slug],
          ['status', event.status],
        ]),
      };
    },
  }),
  ...(['import', 'export'] as const).map((name) =>
    command({
      name: `admin catalogue ${name}`,
      summary:
        name === 'import' ? 'Send events and markets, a line of JSON each' : 'Write all events and markets to a file',
      details: 'What is there already stays as it is, so after an interruption the same command goes on.',
      arguments: { file: { description: '- for standard input or output', file: true } },
      examples: [`admin catalogue ${name} catalogue.ndjson`],
      json: 'the same as without: counts, or the lines themselves',
      run: (context, { file }) => carryCatalogue(context, name, file),
    }),
  ),
];

/** Prints by itself, because a catalogue may have any length. Null: everything is already printed. */
async function carryCatalogue(context: Context, name: 'import' | 'export', file: string): Promise<Result | null> {
  const admin = context.admin();
  const { out, err } = context.terminal;
  if (name === 'import') {
    const { counts, lines } = await importFile(admin, file, context.terminal.input, err);
    return { value: { lines, ...counts }, lines: [countsText(lines, counts)], isBad: counts.failed > 0 };
  }
  await exportFile(admin, file, out);
  return null;
}

type MarketGiven = Readonly<
  Record<
    'title' | 'description' | 'category' | 'ends-at' | 'event' | 'fee-bps' | 'ticks' | 'min-size' | 'status',
    string | undefined
  >
>;

function marketFields(given: MarketGiven): object {
  const { title, description, category, status, event: event_id, ticks } = given;
  const endsAt = given['ends-at'];
  const feeBps = given['fee-bps'];
  const minSize = given['min-size'];
  return defined({
    title,
    description,
    category,
    status,
    event_id,
    trading_ends_at: endsAt === undefined ? undefined : timeOf('ends-at', endsAt),
    fee_bps: feeBps === undefined ? undefined : numberOf('fee-bps', feeBps),
    ticks_per_unit: ticks === undefined ? undefined : Number(ticks),
    min_order_size_atomic: minSize === undefined ? undefined : unitsOf('min-size', minSize),
  });
}

function defined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** "0.25,0.75" in millionths, together a whole USDC. */
function payoutsOf(text: string): Payouts {
  const [yes, no, ...more] = text.split(',').map((share) => Number(unitsOf('payouts', share)));
  if (more.length > 0 || yes + no !== PPM) throw new UsageError('--payouts are two shares of 1 USDC');
  return [yes, no];
}

function marketResult(market: Market): Result {
  const lines = facts([
    ['market', market.id],
    ['question', market.title],
    ['status', market.status],
    ['trading ends', market.trading_ends_at],
  ]);
  return { value: market, lines };
}
