/**
 * The files of test/api that are not run on a chain (`npm run test:chain`), each with the reason. All others are about
 * trading: orders, books, money, streams and what an account sees of them.
 */
const OPERATORS = 'what operators do, with deposits of their own, which a chain refuses (RULES.md 17.21)';
const CATALOGUE = 'the catalogue: it does not depend on where funds are kept';
const SURROUNDINGS = 'the process and its surroundings: no order depends on where funds are kept';
const NO_SERVER = 'it starts no exchange, or parts of one';
const CONTRACTS = 'made-up contracts and settings of a ledger; test/chain has those of a chain';
const LEDGER_RAIL = 'cash over the rail of the ledger; test/chain/fiat and test/chain/rail have the other one';
const RESTORED = 'a directory that is restored beside a chain that went on: test/chain/restored';
const DOCUMENTS = 'what the documents say, not what the exchange does';

export const LEFT_OUT_ON_CHAIN: Readonly<Record<string, string>> = {
  addresses: CONTRACTS,
  'admin-cli': SURROUNDINGS,
  admin: OPERATORS,
  adminEvents: CONTRACTS,
  adminService: SURROUNDINGS,
  alerts: SURROUNDINGS,
  allowList: SURROUNDINGS,
  approvals: OPERATORS,
  audit: OPERATORS,
  backtest: NO_SERVER,
  backups: RESTORED,
  browse: CATALOGUE,
  catalogueEvents: CATALOGUE,
  catalogueFiles: CATALOGUE,
  cliAdmin: OPERATORS,
  cliBackups: SURROUNDINGS,
  cliDoctor: OPERATORS,
  cliLive: 'books as a terminal draws them: cliTrading places orders by command',
  cliStatements: LEDGER_RAIL,
  clientStream: NO_SERVER,
  clientTypes: DOCUMENTS,
  conformance: SURROUNDINGS,
  contracts: CONTRACTS,
  demoRamp: LEDGER_RAIL,
  edge: SURROUNDINGS,
  events: CATALOGUE,
  fiat: LEDGER_RAIL,
  frontLimits: SURROUNDINGS,
  frontOrders: SURROUNDINGS,
  frontPlacements: SURROUNDINGS,
  gateways: SURROUNDINGS,
  health: SURROUNDINGS,
  limits: 'limits of requests: they do not depend on where funds are kept',
  lostMovements: OPERATORS,
  marketLists: CATALOGUE,
  markets: CATALOGUE,
  metrics: SURROUNDINGS,
  openapi: DOCUMENTS,
  operations: OPERATORS,
  operators: OPERATORS,
  platform: CONTRACTS,
  providers: 'people who sign in with other providers: no order is placed',
  recording: NO_SERVER,
  rehearsal: SURROUNDINGS,
  replay: NO_SERVER,
  restoredNumbers: RESTORED,
  sandboxProvider: LEDGER_RAIL,
  sdkGuide: DOCUMENTS,
  searchFolding: CATALOGUE,
  streamFlow: NO_SERVER,
  statistics: 'figures of all trades of a server, computed from its journals alone',
  terms: OPERATORS,
  transport: NO_SERVER,
  transportAdmission: NO_SERVER,
  transportIdentity: NO_SERVER,
  upgrade: 'data directories of releases that knew no chain',
  versions: 'what clients and exchanges of other versions say, which does not depend on where funds are kept',
};
