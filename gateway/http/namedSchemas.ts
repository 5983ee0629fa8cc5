/**
 * The schemas that have a name in the document of the interface, which is the name of a type in clients that are made
 * from it: whole answers and bodies, the parts that they share, and the words that fields may have.
 */
import * as accounts from '../../shared/api/accounts.ts';
import * as approvals from '../../shared/api/approvals.ts';
import * as audit from '../../shared/api/audit.ts';
import * as backups from '../../shared/api/backups.ts';
import * as books from '../../shared/api/books.ts';
import * as browse from '../../shared/api/browse.ts';
import * as candles from '../../shared/api/candles.ts';
import * as catalogue from '../../shared/api/catalogue.ts';
import * as chainFunds from '../../shared/api/chainFunds.ts';
import * as chainMoney from '../../shared/api/chainMoney.ts';
import * as cluster from '../../shared/api/cluster.ts';
import * as events from '../../shared/api/events.ts';
import * as failedTrades from '../../shared/api/failedTrades.ts';
import * as fiat from '../../shared/api/fiat.ts';
import * as fiatStatements from '../../shared/api/fiatStatements.ts';
import * as fields from '../../shared/api/fields.ts';
import * as history from '../../shared/api/history.ts';
import * as leaderboards from '../../shared/api/leaderboards.ts';
import * as ledger from '../../shared/api/ledger.ts';
import * as markets from '../../shared/api/markets.ts';
import * as notifications from '../../shared/api/notifications.ts';
import * as operations from '../../shared/api/operations.ts';
import * as operators from '../../shared/api/operators.ts';
import * as orders from '../../shared/api/orders.ts';
import * as platform from '../../shared/api/platform.ts';
import * as positions from '../../shared/api/positions.ts';
import * as publicHistory from '../../shared/api/publicHistory.ts';
import * as quotes from '../../shared/api/quotes.ts';
import * as rewards from '../../shared/api/rewards.ts';
import { described, type JsonSchema } from '../../shared/api/schema.ts';
import * as sessions from '../../shared/api/sessions.ts';
import * as stages from '../../shared/api/stages.ts';
import * as statistics from '../../shared/api/statistics.ts';
import * as tickers from '../../shared/api/tickers.ts';
import * as wallets from '../../shared/api/wallets.ts';
import * as codes from '../../shared/base/codes.ts';
import type { NamedSchemas } from './openapi.ts';

const MODULES: readonly Readonly<Record<string, unknown>>[] = [
  accounts,
  approvals,
  audit,
  backups,
  books,
  browse,
  candles,
  catalogue,
  chainFunds,
  chainMoney,
  cluster,
  events,
  failedTrades,
  fiat,
  fiatStatements,
  history,
  leaderboards,
  ledger,
  markets,
  notifications,
  operations,
  operators,
  orders,
  platform,
  positions,
  publicHistory,
  quotes,
  rewards,
  sessions,
  stages,
  statistics,
  tickers,
  wallets,
];

/** Parts of answers, and those whose name in their file says too little where they stand beside all others. */
const NAMED: Readonly<Record<string, JsonSchema>> = {
  MarketDeployment: markets.DEPLOYMENT,
  ChainDifference: chainMoney.DIFFERENCE,
  WaitingMovement: chainMoney.WAITING,
  Eip712Field: chainFunds.TYPE_FIELD,
  ClusterLog: cluster.LOG,
  CatalogueLineReport: catalogue.LINE_REPORT,
  CatalogueImport: catalogue.IMPORT_REPORT,
  PlacingState: operations.PLACING,
  UnreadCount: notifications.UNREAD,
  FiatDifference: fiatStatements.DIFFERENCE,
  FiatDifferences: fiatStatements.DIFFERENCES,
  ClosedFiatDifference: fiatStatements.CLOSED_DIFFERENCE,
  FiatDifferenceClose: fiatStatements.CLOSE_BODY,
  FiatStatementBody: fiatStatements.STATEMENT_BODY,
  FiatStatementReport: fiatStatements.STATEMENT_REPORT,
  FiatAuthorization: fiat.AUTHORIZATION,
  FiatAuthorizationBody: fiat.AUTHORIZATION_BODY,
  FiatCompleteBody: fiat.COMPLETE_BODY,
  FiatIntentBody: fiat.INTENT_BODY,
  FiatMoney: fiat.MONEY,
  OperatedFiatSession: fiat.OPERATED_SESSION,
  NewSource: markets.NEW_SOURCE,
  FiatRail: fiat.RAIL,
  FiatTransition: fiat.TRANSITION,
  FiatTxEvidence: fiat.TX_EVIDENCE,
  FiatTypedData: fiat.TYPED_DATA,
  FiatTransferState: fiat.TRANSFER_STATE,
  Redeemable: accounts.REDEEMABLE,
  RateLimit: accounts.RATE_LIMIT,
  AuditRecord: audit.AUDIT_RECORD,
  BrowsedEvent: browse.BROWSED_EVENT,
  BrowsedEvents: browse.BROWSED_EVENTS,
  BrowsedQuotes: browse.BROWSED_QUOTES,
  Candle: candles.CANDLE,
  ClusterMember: cluster.CLUSTER_MEMBER,
  DatabaseStandby: cluster.DATABASE_STANDBY,
  FailedTrade: failedTrades.FAILED_TRADE,
  SetPayout: events.SET_PAYOUT,
  SigningDomain: fiat.SIGNING_DOMAIN,
  UserOrder: history.USER_ORDER,
  UserTrade: history.USER_TRADE,
  LegacyUserTrade: history.LEGACY_USER_TRADE,
  Activity: history.ACTIVITY,
  LeadingTrader: leaderboards.LEADING_TRADER,
  AccountMovement: ledger.ACCOUNT_MOVEMENT,
  StatementBalances: ledger.STATEMENT_BALANCES,
  StatementEntry: ledger.STATEMENT_ENTRY,
  BookLevel: books.BOOK_LEVEL,
  BookSides: books.BOOK_SIDES,
  BookOrder: books.BOOK_ORDER,
  Book: books.BOOK,
  BothBooks: books.BOTH_BOOKS,
  BookOfOrders: books.BOOK_OF_ORDERS,
  OrderSides: books.ORDER_SIDES,
  BothBooksOfOrders: books.BOTH_BOOKS_OF_ORDERS,
  Notification: notifications.NOTIFICATION,
  Achievement: notifications.ACHIEVEMENT,
  Histogram: operations.HISTOGRAM,
  ShardState: operations.SHARD_STATE,
  MoveState: operations.MOVE_STATE,
  SettlementState: operations.SETTLEMENT_STATE,
  ClockState: operations.CLOCK_STATE,
  Fill: orders.FILL,
  ReplacedOrder: orders.REPLACED_ORDER,
  PlacedRow: orders.PLACED_ROW,
  Position: positions.POSITION,
  Quote: quotes.QUOTE,
  StageCounts: stages.STAGE_COUNTS,
  PricePoint: statistics.PRICE_POINT,
  MarketTrade: statistics.MARKET_TRADE,
  RecentFill: statistics.RECENT_FILL,
};

/** `PLACEMENT_RESPONSE` is "PlacementResponse", and words of `SIDE_NAMES` are a "Side". */
export function namedSchemas(): NamedSchemas {
  const names = new Map<JsonSchema, string>();
  for (const [name, value] of MODULES.flatMap((module) => Object.entries(module))) {
    if (isNameable(value)) names.set(value, toPascalCase(name.replace(/_DOCUMENTED$/, '')));
  }
  for (const [name, schema] of Object.entries({ ...NAMED, ...FORMS })) names.set(schema, name);
  for (const [name, words] of Object.entries(codes)) {
    if (name.endsWith('_NAMES') && Array.isArray(words))
      names.set({ type: 'string', enum: words }, toPascalCase(name.replace(/_NAMES$/, '')));
  }
  return names;
}

/** Texts and numbers of one form, which has a meaning of its own. */
const FORMS: Readonly<Record<string, JsonSchema>> = {
  Uuid: fields.UUID,
  Address: fields.ADDRESS,
  Hash: fields.HASH,
  Uint256: fields.UINT256,
  Amount: described(fields.AMOUNT, 'Atomic units of an order or a conversion, as decimal text.'),
  Units: described(fields.UNITS, 'Atomic units, as decimal text.'),
  SignedUnits: described(fields.SIGNED_UNITS, 'Atomic units, as decimal text; a change, or what is owed.'),
  Price: described(fields.PRICE, 'An exact decimal: of a price USDC per token.'),
  Usd: described(fields.USD, 'Dollars, exact, in the shortest form.'),
  Time: fields.TIME,
  TimeOrDay: described(fields.SINCE, 'Without a zone it is in UTC; a day stands for its first moment.'),
  Line: described(markets.SHORT_TEXT, 'Text of one line, without control characters and others that are not shown.'),
  LineOrEmpty: described(markets.SUBTITLE, 'Text of one line, which may be empty.'),
  Lines: described(markets.LONG_TEXT, 'Text of several lines, otherwise as a line.'),
  Email: accounts.EMAIL,
  Link: described({ ...markets.LINK, type: 'string', examples: ['https://weather.example'] }, 'The address of a page.'),
  GroupName: fields.GROUP_NAME,
  WalletSignature: sessions.WALLET_SIGNATURE,
  DisplayName: accounts.DISPLAY_NAME,
  ProviderName: fiat.NAME,
  FiatKind: fiat.KIND,
  FiatStatus: fiat.STATUS,
};

/** An object with members, or one of several. */
function isNameable(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && ('properties' in value || 'anyOf' in value);
}

function toPascalCase(name: string): string {
  return name.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
