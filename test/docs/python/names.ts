/** The names of members for which Python or a reader needs another name than the interface's. */

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

/** Classes of members for which the owner's name plus their own would not be clear. */
export const MEMBER_NAMES: Readonly<Record<string, string>> = {
  'BatchPlaceResponse.results': 'BatchPlaceRefusals',
  'BatchCancelResponse.results': 'BatchCancelRows',
  'PlacedRow.response': 'BatchPlaced',
  'Balances.usdc': 'UsdcBalance',
  'Balances.tokens': 'TokenBalances',
  'RateLimits.limits': 'EndpointLimits',
  'StatementBalances.tokens': 'StatementTokens',
  'TradeSettlement.history': 'SettlementSteps',
};

/** Classes of the second of two forms that a member has. */
export const SECOND_FORMS: Readonly<Record<string, string>> = {
  BatchCancelRow: 'BatchCancelRefusal',
};
