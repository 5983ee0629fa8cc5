/** The names that members have where Python or a reader needs another one than that of the interface. */

/** Words of the language that a field cannot be called: it gets `_` at its end. */
export const PYTHON_WORDS: ReadonlySet<string> = new Set([
  'from',
  'class',
  'global',
  'import',
  'in',
  'is',
  'pass',
  'def',
]);

/** Classes of members, where that of its owner and its own would not say what it is. */
export const MEMBER_NAMES: Readonly<Record<string, string>> = {
  'PlacementResponse.fills': 'Fills',
  'CancelReplaceResponse.replaced_order': 'ReplacedOrder',
  'BatchPlaceResponse.results': 'BatchPlaceRows',
  'BatchPlaceRow.response': 'BatchPlaced',
  'BatchCancelResponse.results': 'BatchCancelRows',
  'Book.bids': 'BookLevels',
  'Book.asks': 'BookLevels',
  'BothBooks.outcome_0': 'BookSides',
  'BothBooks.outcome_1': 'BookSides',
  'BookSides.bids': 'BookLevels',
  'BookSides.asks': 'BookLevels',
  'Candles.candles': 'Candles',
  'UserOrders.orders': 'UserOrders',
  'UserTrades.trades': 'UserTrades',
  'UserActivity.activity': 'Activities',
  'Statement.entries': 'StatementEntries',
  'Statement.opening': 'StatementBalance',
  'Statement.closing': 'StatementBalance',
  'FundMovements.movements': 'AccountMovements',
  'Notifications.items': 'Notifications',
  'Balances.usdc': 'UsdcBalance',
  'Balances.tokens': 'TokenBalances',
  'RateLimits.limits': 'RateLimits',
  'RateLimits.rate_limit_override': 'RateLimitOverride',
  'PlatformConfig.eip712_domain': 'SigningDomain',
  'Tickers.tickers': 'Tickers',
  'MarketTrades.trades': 'MarketTrades',
};

/** Classes of the second of two forms that a member has. */
export const SECOND_FORMS: Readonly<Record<string, string>> = {
  BatchPlaceRow: 'BatchPlaceRefusal',
  BatchCancelRow: 'BatchCancelRefusal',
};
