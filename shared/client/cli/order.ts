/** `npm run order`: places an order from a terminal, and shows books, markets and balances. */
import { parseArgs } from 'node:util';
import { OUTCOME } from '../../base/codes.ts';
import { unitsToDecimal } from '../../base/units.ts';
import { ExchangeClient } from '../client.ts';
import { draftOrder, type OrderIntent } from '../order.ts';
import { OrderSigner } from '../orderSigner.ts';
import type { BookLevel, TimeInForceName } from '../types.ts';
import { ACCESS_OPTIONS, accessFrom } from './access.ts';
import { runCommand, UsageError } from './command.ts';

const USAGE = `Usage:
  npm run order -- --side buy|sell --price 0.55 --size 10 [--outcome yes|no] [--market <id>]
                   [--tif GTC|GTD|FOK|FAK] [--expires-in <seconds>] [--post-only]
                   [--client-id <name>] [--group <order group>]
  npm run order -- book [<market>]      npm run order -- cancel <order hash>
  npm run order -- markets              npm run order -- balances

Who: --as <demo account>, or API_KEY, API_SECRET, API_PASSPHRASE, PRIVATE_KEY and BASE_URL in the environment (or
--api-key, --api-secret, --api-passphrase, --private-key, --base-url), otherwise the session of \`npm run login\`, or
the first demo account.
Without --market the order goes to the first active market.`;

const OPTIONS = {
  ...ACCESS_OPTIONS,
  market: { type: 'string' },
  side: { type: 'string' },
  outcome: { type: 'string', default: 'yes' },
  price: { type: 'string' },
  size: { type: 'string' },
  tif: { type: 'string' },
  'expires-in': { type: 'string' },
  'post-only': { type: 'boolean', default: false },
  'client-id': { type: 'string' },
  group: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;
type Values = ReturnType<typeof parse>['values'];

const BOOK_LEVELS_SHOWN = 10;

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function run(args: string[]): Promise<void> {
  const { values, positionals } = parse(args);
  if (values.help) return console.log(USAGE);
  const [command = 'place', subject, ...rest] = positionals;
  if (rest.length > 0) throw new UsageError(`unexpected argument ${rest[0]}`);
  const access = await accessFrom(values, process.env);
  const client = new ExchangeClient(access);
  if (command === 'place') return place(client, access.privateKey, values);
  if (command === 'book') return showBook(client, subject ?? values.market ?? (await firstActiveMarket(client)));
  if (command === 'cancel') return cancel(client, subject);
  if (command === 'markets') return showMarkets(client);
  if (command === 'balances') return showBalances(client);
  throw new UsageError(`unknown command ${command}`);
}

async function place(client: ExchangeClient, privateKey: string | undefined, values: Values): Promise<void> {
  const order = readOrder(values);
  if (privateKey === undefined) throw new UsageError('no private key and no demo account to place an order with');
  const marketId = values.market ?? (await firstActiveMarket(client));
  const [market, fee, domain] = await Promise.all([
    client.orderMarket(marketId),
    client.feeRate(marketId),
    client.signingDomain(),
  ]);
  const draft = draftOrder({ ...order, market, feeRateBps: fee.maker_fee_bps });
  const signed = new OrderSigner(privateKey, domain).sign(draft);
  // Printed before sending: if the answer is lost, the hash is needed to look the order up or cancel it.
  console.log(`${order.side} ${order.size} ${values.outcome} at ${order.price} in market ${marketId}`);
  console.log(`order hash  ${signed.orderHash}`);
  const answer = await client.placeOrder(signed.body);
  console.log(`order id    ${answer.order_id}`);
  console.log(`status      ${answer.status}`);
  for (const fill of answer.fills ?? []) {
    const tokens = unitsToDecimal(Number(fill.token_quantity_atomic));
    console.log(`fill        ${tokens} at ${fill.price} (${fill.match_type})`);
  }
  console.log(`\nNext:\n  npm run order -- book ${marketId}\n  npm run order -- cancel ${signed.orderHash}`);
}

function readOrder(values: Values): Omit<OrderIntent, 'market' | 'feeRateBps'> {
  const { price, size } = values;
  const side = values.side?.toUpperCase();
  const outcome = values.outcome.toUpperCase();
  const timeInForce = (values.tif ?? (values['expires-in'] === undefined ? 'GTC' : 'GTD')).toUpperCase();
  if (side !== 'BUY' && side !== 'SELL') throw new UsageError('--side is buy or sell');
  if (outcome !== 'YES' && outcome !== 'NO') throw new UsageError('--outcome is yes or no');
  if (price === undefined || size === undefined) throw new UsageError('--price and --size are needed');
  return {
    side,
    outcomeIndex: OUTCOME[outcome],
    price,
    size,
    // The exchange refuses an unknown name.
    timeInForce: timeInForce as TimeInForceName,
    expirationSec: expirationSec(values['expires-in']),
    postOnly: values['post-only'],
    clientOrderId: values['client-id'],
    orderGroup: values.group,
  };
}

function expirationSec(expiresIn: string | undefined): number {
  if (expiresIn === undefined) return 0;
  if (!/^[1-9]\d{0,8}$/.test(expiresIn)) throw new UsageError('--expires-in is a number of seconds');
  return Math.floor(Date.now() / 1000) + Number(expiresIn);
}

async function firstActiveMarket(client: ExchangeClient): Promise<string> {
  const { markets } = await client.markets({ status: 'active', limit: 1 });
  if (markets.length === 0) throw new Error('the exchange has no active market');
  return markets[0].id;
}

async function showBook(client: ExchangeClient, marketId: string): Promise<void> {
  const [market, books] = await Promise.all([
    client.market(marketId),
    client.bothBooks(marketId, { levels: BOOK_LEVELS_SHOWN }),
  ]);
  console.log(`${market.title} (${market.status}), market ${marketId}`);
  for (const [index, { bids, asks }] of [books.outcome_0, books.outcome_1].entries()) {
    console.log(`\n${market.outcomes[index]}`);
    for (const level of asks.toReversed()) console.log(levelLine('ask', level));
    for (const level of bids) console.log(levelLine('bid', level));
    if (asks.length + bids.length === 0) console.log('  no orders');
  }
}

function levelLine(label: string, level: BookLevel): string {
  const tokens = unitsToDecimal(Number(level.token_quantity_atomic ?? 0));
  const orders = `${level.num_orders} order${level.num_orders === 1 ? '' : 's'}`;
  return `  ${label}  ${level.price.padEnd(8)}${tokens.padStart(16)} tokens  ${orders}`;
}

async function cancel(client: ExchangeClient, orderHash: string | undefined): Promise<void> {
  if (orderHash === undefined) throw new UsageError('cancel needs an order hash');
  const { message } = await client.cancelOrder(orderHash);
  console.log(message);
}

async function showMarkets(client: ExchangeClient): Promise<void> {
  const { markets, total } = await client.markets({ limit: 100 });
  for (const market of markets) console.log(`${market.id}  ${market.status.padEnd(9)}  ${market.title}`);
  console.log(`${markets.length} of ${total} markets`);
}

async function showBalances(client: ExchangeClient): Promise<void> {
  const { usdc, tokens } = await client.balances();
  console.log(`USDC  available ${decimal(usdc.available)}  reserved ${decimal(usdc.reserved)}`);
  for (const row of tokens) {
    const outcome = row.outcome_index === OUTCOME.YES ? 'Yes' : 'No';
    const amounts = `available ${decimal(row.available)}  reserved ${decimal(row.reserved)}`;
    console.log(`${outcome.padEnd(4)}  ${amounts}  market ${row.market_id}`);
  }
}

function decimal(atomic: string): string {
  return unitsToDecimal(Number(atomic));
}

await runCommand(USAGE, run);
