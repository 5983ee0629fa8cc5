/** Bodies of placements, valid and spoiled, and the orders that they become. */
import { compileBody } from '../../gateway/http/validate.ts';
import type { MarketEntry } from '../../gateway/markets/catalog.ts';
import { OrderEncoder, type PlacementExtras } from '../../gateway/trading/encodeOrder.ts';
import type { Order } from '../../gateway/trading/order.ts';
import { ParsedOrders } from '../../gateway/trading/parsedOrders.ts';
import { PLACEMENT, type PlacementBody } from '../../shared/api/orders.ts';
import { MAX_ORDER_AMOUNT, SELF_TRADE, SELF_TRADE_NAMES, TIME_IN_FORCE_NAMES } from '../../shared/base/codes.ts';
import type { Random } from './random.ts';
import { recordOf } from './recordWriter.ts';

export const MAKER = `0x${'aB'.repeat(20)}`;
const SIGNER = `0x${'cd'.repeat(20)}`;
const NOBODY = `0x${'0'.repeat(40)}`;
export const MARKET_IDS = ['0190a0b0-c0d0-7000-8000-0000000000aF', '0190A0B0-C0D0-7000-8000-0000000000b0'];
export const TOKENS = [String(2n ** 256n - 1n), '22', '0'];
const GRANT = 7;

const parsed = new ParsedOrders();
const checkBody = compileBody(PLACEMENT);
const market = { yesTokenId: TOKENS[0], noTokenId: TOKENS[1] } as MarketEntry;
const placer = { accountIndex: 5, selfTradePrevention: SELF_TRADE.CANCEL_OLDEST };
const encoder = new OrderEncoder({
  grantOf: (_, maker, signer) => (maker === MAKER.toLowerCase() && signer === SIGNER ? GRANT : 0),
});
/** The order of parsed JSON; null where it is refused before its market is looked for. Each keeps its record. */
export function toOrder(value: unknown): Order | null {
  if (checkBody(value) !== null) return null;
  const order = parsed.read(value as PlacementBody);
  return order.contradiction === null ? order.kept() : null;
}

/** Everything that an order becomes. */
export function outcomeOf(order: Order): object {
  const extras: PlacementExtras | undefined = order.clientId === undefined ? undefined : { deadlineMs: 5 };
  return {
    marketId: nameOfMarket(order),
    mismatch: order.refuseToken(market),
    side: order.side,
    isImmediate: order.isImmediate,
    amounts: [order.makerAmount, order.takerAmount],
    tags: [order.clientId, order.groupName],
    command: [...recordOf(encoder.ready(order, placer, extras, 1))],
  };
}

function nameOfMarket(order: Order): string | undefined {
  const names: string[] = [];
  order.marketIn({
    byId: (id) => {
      names.push(id);
      return undefined;
    },
    byToken: () => undefined,
  });
  return names[0];
}

export function body(more: object = {}): Record<string, unknown> {
  return {
    market_id: MARKET_IDS[0],
    token_id: TOKENS[0],
    side: 'BUY',
    maker_amount: '4000000',
    taker_amount: '10000000',
    nonce: 0,
    expiration: 0,
    fee_rate_bps: 50,
    outcome_index: 0,
    time_in_force: 'GTC',
    post_only: false,
    maker: MAKER,
    signer: SIGNER,
    taker: NOBODY,
    salt: '123456789',
    signature: `0x${'1b'.repeat(65)}`,
    ...more,
  };
}

export function randomBody(random: Random): Record<string, unknown> {
  const digits = (most: number): string => {
    const count = random.between(1, most);
    return Array.from({ length: count }, (_, index) => String(random.between(index === 0 ? 1 : 0, 9))).join('');
  };
  const hex = (bytes: number): string =>
    `0x${Array.from({ length: 2 * bytes }, () => random.pick([...'0123456789abcdefABCDEF'])).join('')}`;
  const rarely = <T>(value: T, otherwise: T): T => (random.chance(10) ? value : otherwise);
  const all = body({
    market_id: random.pick(MARKET_IDS),
    token_id: random.pick([...TOKENS, digits(77), digits(78)]),
    side: random.pick(['BUY', 'SELL']),
    maker_amount: random.pick([digits(15), String(MAX_ORDER_AMOUNT), '1']),
    taker_amount: digits(15),
    nonce: random.pick([0, 7, Number.MAX_SAFE_INTEGER, digits(16), '0', rarely(1.5, 1)]),
    expiration: random.pick([0, 1_900_000_000, Number.MAX_SAFE_INTEGER]),
    fee_rate_bps: random.pick([0, 50, 0xffff_ffff, rarely(0x1_0000_0000, 9)]),
    outcome_index: random.pick([0, 1, rarely(2, 1)]),
    time_in_force: random.pick(TIME_IN_FORCE_NAMES),
    post_only: random.chance(30),
    maker: random.pick([MAKER, MAKER.toLowerCase(), hex(20)]),
    salt: random.pick(['0', digits(77), digits(78), TOKENS[0]]),
    signature: rarely('none', hex(65)),
    self_trade_prevention: random.pick(SELF_TRADE_NAMES),
    client_order_id: random.pick(['quote 17', '~', 'x'.repeat(64), rarely('', 'a"b')]),
    min_taker_net: '0',
    order_group: 'quotes',
  });
  const optional = ['self_trade_prevention', 'client_order_id', 'expiration', 'time_in_force', 'post_only'];
  const rare = ['min_taker_net', 'order_group', 'side', 'salt'];
  const names = Object.keys(all).filter((name) => {
    if (optional.includes(name)) return random.chance(60);
    return name === 'min_taker_net' || name === 'order_group'
      ? random.chance(3)
      : !rare.includes(name) || random.chance(98);
  });
  if (random.chance(30)) names.sort(() => (random.chance(50) ? 1 : -1));
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

/** Another spelling of the same JSON, or of something else. */
export function spoil(text: string, random: Random): string {
  const at = random.below(text.length);
  switch (random.below(8)) {
    case 0:
      return (
        text.slice(0, at) + random.pick(['"', '\\', ',', '}', '{', ':', '0', '-', ' ', 'é', '\u0000']) + text.slice(at)
      );
    case 1:
      return text.slice(0, at) + text.slice(at + 1);
    case 2:
      return text.slice(0, at);
    case 3:
      return text.replace('}', `,"side":"BUY"}`);
    case 4:
      return text.replaceAll(random.pick([',', ':', '{', '}']), (sign) => `\r\n\t ${sign} `);
    case 5:
      return text.replace('"side"', random.pick(['"s\\u0069de"', '"Side"', 'side']));
    case 6:
      return text + random.pick([' ', '\n', ',', '{}', 'x', '\u00a0']);
    default:
      return text.replace(/"nonce":[^,}]*/, `"nonce":${random.pick(['-0', '00', '1e3', '1.0', '+1', 'null', '"01"'])}`);
  }
}
