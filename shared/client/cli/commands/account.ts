/** Commands about the account: its money, its movements, and what its limits leave. */
import type { ExchangeClient } from '../../client.ts';
import { command, type Result } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { UsageError } from '../frame/errors.ts';
import { MARKET_WORDS, MarketNames } from '../frame/marketNames.ts';
import { optionalNumber, unitsOf } from '../frame/orderForm.ts';
import { nextLine, PAGE_OPTIONS, pageQuery } from '../frame/pages.ts';
import { columns, decimal, facts, type Row, shownPrice } from '../frame/text.ts';

const MARKET = { market: { description: MARKET_WORDS } } as const;

const balances = command({
  name: 'balances',
  summary: 'Show USDC and tokens, available and reserved by open orders',
  examples: ['balances', 'balances --json'],
  json: 'the answer of GET /v1/user/balances',
  run: async (context) => {
    const client = await context.client();
    const answer = await client.balances();
    const { usdc, tokens } = answer;
    const names = await MarketNames.of(context, client, tokens);
    const rows: Row[] = [
      ['USDC', decimal(usdc.available), decimal(usdc.reserved), ''],
      ...tokens.map((row) => [
        names.outcome(row.market_id, row.outcome_index),
        decimal(row.available),
        decimal(row.reserved),
        names.title(row.market_id),
      ]),
    ];
    return { value: answer, lines: columns(['asset', 'available', 'reserved', 'market'], rows) };
  },
});

const positions = command({
  name: 'positions',
  summary: 'List positions: tokens, average price, realized gain',
  options: { market: { value: 'market', description: 'only in this market' }, ...PAGE_OPTIONS },
  examples: ['positions', 'positions --market MARKET --json'],
  json: 'the answer of GET /v1/user/positions',
  run: async (context, given) => {
    const client = await context.client();
    const query = { ...pageQuery(given), market_id: given.market && (await context.marketId(given.market)) };
    const answer = await client.positions.list(query);
    const names = await MarketNames.of(context, client, answer);
    const rows = answer.map((row) => [
      names.outcome(row.market_id, row.outcome_index),
      decimal(row.quantity),
      shownPrice(row.average_entry_price),
      row.realized_pnl && decimal(microOf(row.realized_pnl)),
      row.claimed ? 'claimed' : '',
      names.title(row.market_id),
    ]);
    const head = ['outcome', 'tokens', 'average price', 'realized', '', 'market'];
    return { value: answer, lines: columns(head, rows, 'no positions') };
  },
});

const portfolio = command({
  name: 'portfolio',
  summary: 'Show the money, the gain of the last 24 hours and what can be claimed',
  examples: ['portfolio', 'portfolio --json'],
  json: '`{pnl_24h, balances, positions, redeemable}`: the answers of the four routes',
  run: async (context) => {
    const client = await context.client();
    const [pnl_24h, held, list, redeemable] = await Promise.all([
      client.positions.pnl24h(),
      client.balances(),
      client.positions.list(),
      client.redeemable(),
    ]);
    const realized = list.reduce((sum, row) => sum + microOf(row.realized_pnl ?? '0'), 0n);
    const owed = redeemable.reduce((sum, row) => sum + BigInt(row.payout), 0n);
    const lines = facts([
      ['available', `${decimal(held.usdc.available)} USDC`],
      ['in open orders', `${decimal(held.usdc.reserved)} USDC`],
      ['gain in 24 h', `${pnl_24h.pnl_24h_usdc} USDC (${pnl_24h.pnl_24h_pct}%)`],
      ['realized gain', `${decimal(realized)} USDC`],
      ['positions', list.length],
      ['to be claimed', `${decimal(owed)} USDC${owed > 0n ? ' (pmx claim --all)' : ''}`],
    ]);
    return { value: { pnl_24h, balances: held, positions: list, redeemable }, lines };
  },
});

const activity = command({
  name: 'activity',
  summary: 'List what happened to your orders, the newest first',
  options: {
    market: { value: 'market', description: 'only in this market' },
    type: { value: 'name', description: 'only this kind', choices: ['fill', 'placed', 'cancelled', 'expired'] },
    ...PAGE_OPTIONS,
  },
  examples: ['activity --limit 20', 'activity --type fill --json'],
  json: 'the answer of GET /v1/user/activity',
  run: async (context, given) => {
    const client = await context.client();
    const market_id = given.market && (await context.marketId(given.market));
    const answer = await client.userActivity({ market_id, type: given.type, ...pageQuery(given) });
    const names = await MarketNames.of(context, client, answer.activity);
    const rows = answer.activity.map((row) => [
      row.created_at,
      row.type,
      row.side,
      names.outcome(row.market_id, row.outcome_index),
      decimal(row.quantity_atomic),
      // A signed price is not a price that was paid (RULES.md 1.8).
      row.type === 'fill' ? null : shownPrice(row.price),
      row.type === 'fill' ? shownPrice(row.price) : null,
      row.reason ?? '',
      names.title(row.market_id),
    ]);
    const head = ['time', 'what', 'side', 'outcome', 'tokens', 'limit', 'price', 'reason', 'market'];
    return { value: answer, lines: [...columns(head, rows, 'nothing yet'), ...nextLine(answer.next_cursor)] };
  },
});

const funds = command({
  name: 'funds',
  summary: 'List deposits, withdrawals, splits, merges, their fees and payouts',
  options: {
    limit: PAGE_OPTIONS.limit,
    offset: { value: 'number', description: 'how many to leave out, the newest first' },
  },
  examples: ['funds', 'funds --json'],
  json: 'the answer of GET /v1/user/fund-movements',
  run: async (context, { limit, offset }) => {
    const query = { ...pageQuery({ limit, cursor: undefined }), offset: optionalNumber('offset', offset) };
    const answer = await (await context.client()).ledger.fundMovements(query);
    const rows = answer.movements.map((row) => [
      row.created_at,
      row.type,
      decimal(row.amount_usdc_micro),
      row.settlement_status,
      row.reference,
    ]);
    return { value: answer, lines: columns(['time', 'what', 'usdc', 'chain', 'reference'], rows, 'nothing yet') };
  },
});

const statement = command({
  name: 'statement',
  summary: 'Print everything that changed the balances in a period',
  options: {
    from: { value: 'time', description: 'the start, of the account unless given' },
    to: { value: 'time', description: 'the end, now unless given' },
    csv: { description: 'as CSV, for a spreadsheet or a tax return' },
  },
  examples: [
    'statement --from 2026-10-01T00:00:00Z',
    'statement --json > statement.json',
    'statement --csv > statement.csv',
  ],
  json: 'the answer of GET /v1/user/statement',
  run: async (context, { from, to, csv }) => {
    if (csv && context.isJson) throw new UsageError('--csv and --json exclude each other');
    const client = await context.client();
    if (csv) {
      const lines = await client.ledger.openStatement({ from, to, format: 'csv' });
      const text = new TextDecoder();
      for await (const bytes of lines) context.terminal.out.write(text.decode(bytes, { stream: true }));
      return null;
    }
    const answer = await client.ledger.statement({ from, to });
    const names = await MarketNames.of(context, client, answer.entries);
    const rows = answer.entries.map((entry) => [
      entry.time,
      entry.type,
      decimal(entry.usdc_delta_micro),
      decimal(entry.yes_delta_atomic),
      decimal(entry.no_delta_atomic),
      decimal(entry.usdc_balance_micro),
      names.title(entry.market_id),
    ]);
    const lines = [
      `opening  ${decimal(answer.opening.usdc_micro)} USDC`,
      ...columns(['time', 'what', 'usdc', 'yes', 'no', 'balance', 'market'], rows, 'nothing in this period'),
      `closing  ${decimal(answer.closing.usdc_micro)} USDC`,
    ];
    return { value: answer, lines };
  },
});

const claim = command({
  name: 'claim',
  summary: 'Exchange the tokens of a decided market for their payout',
  arguments: { market: { description: MARKET_WORDS, optional: true } },
  options: { all: { description: 'of every market that pays something' } },
  examples: ['claim MARKET', 'claim --all'],
  json: 'the answer of POST /v1/user/positions/{market}/claim, with --all a list of them',
  run: async (context, { market, all }) => {
    if (all === (market !== undefined)) throw new UsageError('claim needs a market, or --all');
    const client = await context.client();
    if (market !== undefined) {
      const answer = await client.claim(await context.marketId(market));
      return { value: answer, lines: [`${answer.message}: ${answer.tx_hash}`] };
    }
    return claimAll(context, client);
  },
});

const limits = command({
  name: 'limits',
  summary: 'Show what is left of the limits of your key or session',
  details: 'Limits that nothing was taken from are not shown, unless --all is given.',
  options: { all: { description: 'of every route, also where all is left' } },
  examples: ['limits', 'limits --all --json'],
  json: 'the answer of GET /v1/rate-limits',
  run: async (context, { all }) => {
    const answer = await (await context.client()).rateLimits();
    const used = answer.limits.filter(({ remaining, requests }) => all || remaining < requests);
    const rows = used.map((row) => [
      `${row.method} ${row.path}`,
      row.remaining,
      row.requests,
      `${row.window_seconds} s`,
    ]);
    const hidden = answer.limits.length - used.length;
    const lines = [
      `tier ${answer.tier ?? 'of a session'}${answer.enforced ? '' : ', not enforced'}`,
      ...columns(['endpoint', 'left', 'of', 'in'], rows, 'nothing was taken from any limit'),
      ...(hidden === 0 ? [] : [`${hidden} others are whole (--all shows them)`]),
    ];
    return { value: answer, lines };
  },
});

const conversions = (['split', 'merge'] as const).map((name) =>
  command({
    name,
    summary: name === 'split' ? 'Turn USDC into as many Yes and No tokens' : 'Turn Yes and No tokens back into USDC',
    arguments: { ...MARKET, amount: { description: 'how many, in USDC: 10' } },
    options: {
      'idempotency-key': { value: 'uuid', description: 'a repeat with the same key gets the answer of the first' },
    },
    examples: [`${name} MARKET 10`],
    json: `the answer of POST /v1/markets/{market}/${name}`,
    run: async (context, { market, amount, 'idempotency-key': key }) => {
      const client = await context.client();
      const answer = await client[name](await context.marketId(market), Number(unitsOf('amount', amount)), key);
      return { value: answer, lines: [`${answer.message}: ${decimal(answer.amount)} USDC`] };
    },
  }),
);

const convert = command({
  name: 'convert',
  summary: 'Turn No of some markets of an event set into USDC and Yes of the others, or back',
  access: 'account',
  arguments: { event: { description: 'the event set' }, amount: { description: 'how many tokens of each market: 10' } },
  options: {
    markets: { value: 'ids', description: 'the markets whose No is converted, separated by commas; left out: none' },
    back: { description: 'from USDC and Yes to No' },
    'dry-run': { description: 'only say what would happen' },
    'idempotency-key': { value: 'uuid', description: 'a repeat with the same key gets the answer of the first' },
  },
  examples: ['convert EVENT 10 --markets MARKET,MARKET --dry-run', 'convert EVENT 10 --back'],
  json: 'the answer of POST /v1/events/{event}/convert',
  run: async (context, { event, amount, markets, back, 'dry-run': dryRun, 'idempotency-key': key }) => {
    const client = await context.client();
    const answer = await client.convert(
      await context.eventId(event),
      {
        direction: back ? 'from_usdc' : 'to_usdc',
        markets: markets === undefined ? [] : markets.split(','),
        amount: unitsOf('amount', amount),
        ...(dryRun ? { dry_run: true } : {}),
      },
      key,
    );
    const names = await MarketNames.of(context, client, answer.tokens);
    const rows: Row[] = [
      ['USDC', decimal(answer.usdc_micro), ''],
      ...answer.tokens.map((row) => [
        names.outcome(row.market_id, row.outcome_index),
        decimal(row.change_atomic),
        names.title(row.market_id),
      ]),
    ];
    return { value: answer, lines: columns(['asset', dryRun ? 'would change by' : 'changed by', 'market'], rows) };
  },
});

export const ACCOUNT = [
  ...[balances, positions, portfolio, activity, funds, statement, claim, ...conversions],
  ...[convert, limits],
];

export const NOTIFICATIONS = [
  command({
    name: 'notifications list',
    summary: 'List notifications, the newest first',
    options: PAGE_OPTIONS,
    examples: ['notifications list', 'notifications list --limit 5 --json'],
    json: 'the answer of GET /v1/notifications',
    run: async (context, given) => {
      const answer = await (await context.client()).account.notifications(pageQuery(given));
      const rows = answer.items.map((row) => [row.created_at, row.read_at === null ? 'new' : '', row.title, row.body]);
      const lines = [
        `${answer.unread_count} unread`,
        ...columns(['time', '', 'title', 'text'], rows, 'none'),
        ...nextLine(answer.next_cursor),
      ];
      return { value: answer, lines };
    },
  }),
  command({
    name: 'notifications read',
    summary: 'Mark a notification as read, or all of them',
    arguments: { id: { description: 'the id of the notification; all unless given', optional: true } },
    examples: ['notifications read', 'notifications read 0190a0b0-…'],
    json: 'the answer of POST /v1/notifications/{id}/read or mark-all-read',
    run: async (context, { id }) => {
      const { account } = await context.client();
      if (id !== undefined) return { value: await account.markRead(id), lines: ['read'] };
      const answer = await account.markAllRead();
      return { value: answer, lines: [`${answer.marked} read`] };
    },
  }),
];

/** Claims one market after the other: the first refusal ends it, and earlier claims stand. */
async function claimAll(context: Context, client: ExchangeClient): Promise<Result> {
  const markets = [...new Set((await client.redeemable()).map(({ market_id }) => market_id))];
  const answers = [];
  for (const market of markets) answers.push(await client.claim(market));
  const names = await MarketNames.of(context, client, answers);
  const lines = answers.map(({ market_id, message }) => `${message}: ${names.title(market_id)}`);
  return { value: answers, lines: lines.length === 0 ? ['there is nothing to claim'] : lines };
}

/** "-1.25" USDC in micro. */
function microOf(text: string): bigint {
  const [whole, fraction = ''] = text.replace('-', '').split('.');
  const micro = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
  return text.startsWith('-') ? -micro : micro;
}
