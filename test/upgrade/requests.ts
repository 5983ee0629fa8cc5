/** The questions about a data directory whose answers an upgrade must not change. */

type Question = {
  /** Index of a trader, or -1: the administrator. */
  readonly who: number;
  readonly path: string;
};

const OF_ACCOUNT = [
  '/v1/user/balances',
  '/v1/user/orders/v2?limit=100',
  '/v1/user/trades/v2?limit=100',
  '/v1/user/activity?limit=100',
  '/v1/user/positions',
  '/v1/user/fund-movements',
  '/v1/user/order-groups',
];
const OF_MARKET = ['/v1/orders/book/ID', '/v1/markets/ID', '/v1/markets/ID/trades'];

/** @param users the traders, in their order */
export function questionsAbout(markets: readonly string[], users: readonly string[]): Question[] {
  return [
    ...users.flatMap((_, who) => OF_ACCOUNT.map((path) => ({ who, path }))),
    ...markets.flatMap((id) => OF_MARKET.map((path) => ({ who: 0, path: path.replace('ID', id) }))),
    ...users.map((id) => ({ who: -1, path: `/admin/users/${id}/wallets` })),
  ];
}
