/**
 * The units of the numbers in the interface, for `x-unit` in its documents. Fields name their unit at the end if the
 * interface allows it; fields with older names are listed one by one. If the name of a field suggests a wrong unit, its
 * schema has an `x-unit` of its own, like the decimal `amount` of a cash-in.
 */
import type { JsonSchema } from '../../shared/api/schema.ts';

const MICRO = 'micro-USDC';
const ATOMIC = 'atomic tokens (10^-6)';
const EITHER = 'micro-USDC or atomic tokens, of the asset meant';
const PRICE = 'USDC per token';
const USDC = 'USDC';
const FRACTION = 'signed fraction';

const BY_NAME: Readonly<Record<string, string>> = {
  maker_amount: 'micro-USDC of a BUY, atomic tokens of a SELL',
  taker_amount: 'atomic tokens of a BUY, micro-USDC of a SELL',
  remaining: 'as maker_amount',
  filled_amount: 'as maker_amount',
  expected_remaining: 'as maker_amount of the old order',
  min_taker_net: 'as taker_amount',
  fee_amount: 'as fee_asset says',
  amount: EITHER,
  available: EITHER,
  reserved: EITHER,
  required: EITHER,
  size: 'deprecated: mixes units',
  payout: MICRO,
  usdc_balance_micro: MICRO,
  usdc_delta_micro: MICRO,
  usdc_micro: MICRO,
  ours_micro: MICRO,
  theirs_micro: MICRO,
  claim_micro: MICRO,
  quantity: ATOMIC,
  price: PRICE,
  price_cents: 'cents per token',
  bid: PRICE,
  ask: PRICE,
  best_bid: PRICE,
  best_ask: PRICE,
  last_price: PRICE,
  midpoint: PRICE,
  spread: PRICE,
  tick_size: PRICE,
  average_entry_price: PRICE,
  average_fill_price: PRICE,
  realized_pnl: USDC,
  total_volume: USDC,
  total_volume_24h: USDC,
  total_fees_collected: USDC,
  roi: FRACTION,
  active_markets_delta: FRACTION,
  traders_online_delta: FRACTION,
  volume_24h_delta: FRACTION,
  volume_24h_delta_pct: FRACTION,
  volume_delta_pct: FRACTION,
  pnl_24h_pct: 'percent',
  expiration: 'Unix seconds, 0 for none',
  expires_in: 'seconds',
  server_time: 'Unix seconds',
  reset: 'Unix seconds',
  open_interest: 'whole contracts',
  ticks_per_unit: 'ticks per USDC',
};
const BY_END: readonly (readonly [RegExp, string])[] = [
  [/_usdc_micro$/, MICRO],
  [/_atomic$/, ATOMIC],
  [/_usdc?(?:_24h)?$|^pnl_24h_usdc$/, USDC],
  [/_bps$/, 'basis points'],
  [/_ms$/, 'milliseconds'],
  [/_seconds$|_sec$/, 'seconds'],
  [/_minutes$/, 'minutes'],
  [/_hours$/, 'hours'],
];

/** Returns the schema with the unit of every member that has one. */
export function withUnits(schema: JsonSchema): JsonSchema {
  const { properties, items } = schema;
  const members = Object.entries(properties ?? {}).map(([name, member]) => {
    const unit = unitOf(name, member);
    return [name, { ...withUnits(member), ...(unit === undefined ? {} : { 'x-unit': unit }) }] as const;
  });
  return {
    ...schema,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(members) }),
    ...(items === undefined ? {} : { items: withUnits(items) }),
  };
}

/** Undefined if the name is no quantity, or has no unit, such as a number of rows. */
export function unitOf(name: string, schema: JsonSchema): string | undefined {
  const { 'x-unit': own } = schema;
  if (typeof own === 'string') return own;
  return Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : BY_END.find(([end]) => end.test(name))?.[1];
}
