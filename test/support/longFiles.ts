/**
 * The test files that `npm test` leaves to `npm run test:long`, each with what takes its time: the goal of the suite is
 * four minutes. CI runs both.
 */
const AMOUNTS = 'every vector of amounts is signed, traded and read everywhere, on two exchanges';
const ANSWERS = 'a proxy spoils answers in forty ways, for the client and for pmx';
const ATTACKS = 'an account attacks as fast as it can, beside kills of the exchange';
const BACKUPS = 'exchanges are backed up, restored and compared';
const BROWSER = 'a browser opens every view';
const CHAIN = 'an exchange works for many blocks of a real EVM';
const CLOCKS = 'several exchanges start, each with a wrong clock';
const CLUSTER = 'members of a cluster take over from each other, or wait for a lease';
const DIVIDED = 'an exchange is divided among other numbers of shards, and the command ends between any two steps';
const FAULTS = 'exchanges are killed, lie or are failed by the system, round after round';
const FRONTS = 'two exchanges answer the same requests, with front threads and without';
const IMAGE = 'an image is built from the packages of npm';
const MONTHS = 'two months of a venue pass';
const VERSIONS = 'exchanges of three versions start after each other on the same directory';
const TURNS = 'every thread of an exchange takes ten thousand turns';
const MANY_ORDERS = 'a shard gets more orders than fit into a megabyte';
const LOST_PAGES = 'a file is repaired once for each of its pages';
const PAGES = 'a real Prometheus looks at exchanges that fail, every second';
const PROGRAMS = 'programs trade for a while, and meet kills of the exchange';
const PYTHON = 'mypy reads the Python client as strictly as it can, or Python plays it step by step';
const RINGS = 'an exchange is started for each thing that rings';
const RULES = 'promtool plays hours of every rule that alerts';
const SYMBOLS = 'the compiler finds who reads each field of the configuration';
const START = 'each start of an exchange plays thousands of made-up orders before it is ready';
const WORLDS = 'simulated clusters die in every way';

export const LONG_FILES: Readonly<Record<string, string>> = {
  'test/api/alerts.test.ts': PAGES,
  'test/api/backups.test.ts': BACKUPS,
  'test/api/cliBackups.test.ts': BACKUPS,
  'test/api/clocks.test.ts': CLOCKS,
  'test/api/demoRamp.test.ts': BROWSER,
  'test/api/frontLimits.test.ts': FRONTS,
  'test/api/frontOrders.test.ts': FRONTS,
  'test/api/frontPlacements.test.ts': FRONTS,
  'test/api/marketMaker.test.ts': PROGRAMS,
  'test/api/rehearsal.test.ts': START,
  'test/api/resharding.test.ts': DIVIDED,
  'test/api/restoredNumbers.test.ts': FAULTS,
  'test/api/sandboxProvider.test.ts': PROGRAMS,
  'test/api/signedAmounts.test.ts': AMOUNTS,
  'test/api/spilledOrders.test.ts': MANY_ORDERS,
  'test/browser/account.test.ts': BROWSER,
  'test/browser/docs.test.ts': BROWSER,
  'test/browser/finding.test.ts': BROWSER,
  'test/browser/firefox.test.ts': BROWSER,
  'test/browser/liveBook.test.ts': BROWSER,
  'test/browser/operations.test.ts': BROWSER,
  'test/browser/page.test.ts': BROWSER,
  'test/browser/reading.test.ts': BROWSER,
  'test/browser/shots.test.ts': BROWSER,
  'test/browser/ticket.test.ts': BROWSER,
  'test/browser/trading.test.ts': BROWSER,
  'test/browser/wallets.test.ts': BROWSER,
  'test/chain/alertCauses.test.ts': CHAIN,
  'test/chain/alertPages.test.ts': CHAIN,
  'test/chain/day.test.ts': CHAIN,
  'test/chain/decisions.test.ts': CHAIN,
  'test/chain/demo.test.ts': CHAIN,
  'test/chain/engine.test.ts': CHAIN,
  'test/chain/fastFinality.test.ts': CHAIN,
  'test/chain/fiat.test.ts': CHAIN,
  'test/chain/fiatRows.test.ts': CHAIN,
  'test/chain/fiatWorlds.test.ts': CHAIN,
  'test/chain/followedFloors.test.ts': CHAIN,
  'test/chain/follower.test.ts': CHAIN,
  'test/chain/gas.test.ts': CHAIN,
  'test/chain/invariant.test.ts': CHAIN,
  'test/chain/markets.test.ts': CHAIN,
  'test/chain/movementFees.test.ts': CHAIN,
  'test/chain/nodes.test.ts': CHAIN,
  'test/chain/older.test.ts': CHAIN,
  'test/chain/payments.test.ts': CHAIN,
  'test/chain/ramp.test.ts': CHAIN,
  'test/chain/resolutions.test.ts': CHAIN,
  'test/chain/restored.test.ts': CHAIN,
  'test/chain/rotation.test.ts': CHAIN,
  'test/chain/server.test.ts': CHAIN,
  'test/chain/upgradedUsdc.test.ts': CHAIN,
  'test/cluster/adminRoutes.test.ts': CLUSTER,
  'test/cluster/alertCauses.test.ts': CLUSTER,
  'test/cluster/answers.test.ts': CLUSTER,
  'test/cluster/answersDisk.test.ts': FAULTS,
  'test/cluster/fileEnds.test.ts': CLUSTER,
  'test/cluster/fronts.test.ts': CLUSTER,
  'test/cluster/fullDisk.test.ts': FAULTS,
  'test/cluster/handOver.test.ts': CLUSTER,
  'test/cluster/keptLog.test.ts': CLUSTER,
  'test/cluster/memberRepair.test.ts': FAULTS,
  'test/cluster/signedAmounts.test.ts': CLUSTER,
  'test/cluster/summaries.test.ts': CLUSTER,
  'test/cluster/takeover.test.ts': CLUSTER,
  'test/cluster/takesNoRows.test.ts': CLUSTER,
  'test/cluster/tls.test.ts': CLUSTER,
  'test/cluster/waiting.test.ts': CLUSTER,
  'test/fault/alertCauses.test.ts': RINGS,
  'test/fault/alertPages.test.ts': PAGES,
  'test/fault/alertResources.test.ts': FAULTS,
  'test/fault/backup.test.ts': FAULTS,
  'test/fault/clientScenario.test.ts': PYTHON,
  'test/fault/damagedBackups.test.ts': FAULTS,
  'test/fault/damages.test.ts': FAULTS,
  'test/fault/damagesInCluster.test.ts': CLUSTER,
  'test/fault/damagesOnChain.test.ts': CHAIN,
  'test/fault/failingDiskPages.test.ts': PAGES,
  'test/fault/fullDiskPages.test.ts': PAGES,
  'test/fault/idleConnections.test.ts': FAULTS,
  'test/fault/image.test.ts': IMAGE,
  'test/fault/inventedVersions.test.ts': VERSIONS,
  'test/fault/leftOverCancel.test.ts': FAULTS,
  'test/fault/load.test.ts': FAULTS,
  'test/fault/logReader.test.ts': FAULTS,
  'test/fault/memory.test.ts': TURNS,
  'test/fault/proxyAnswers.test.ts': ANSWERS,
  'test/fault/proxyRestart.test.ts': FAULTS,
  'test/fault/resolution.test.ts': FAULTS,
  'test/fault/restartPages.test.ts': PAGES,
  'test/fault/streamSummaries.test.ts': FAULTS,
  'test/fault/syscalls.test.ts': FAULTS,
  'test/fault/witness.test.ts': FAULTS,
  'test/hostile/fullDiskStart.test.ts': FAULTS,
  'test/hostile/railCancellations.test.ts': ATTACKS,
  'test/hostile/restrictedAccounts.test.ts': ATTACKS,
  'test/peers/ccxtUpstream.test.ts': PROGRAMS,
  'test/peers/day.test.ts': PROGRAMS,
  'test/sim/cluster.test.ts': WORLDS,
  'test/unit/bench/years.test.ts': MONTHS,
  'test/unit/deploy/alertRules.test.ts': RULES,
  'test/unit/deploy/alerts.test.ts': RULES,
  'test/unit/engine/admin/controlRepair.test.ts': LOST_PAGES,
  'test/unit/gateway/base/settings.test.ts': SYMBOLS,
  'test/unit/python/client.test.ts': PYTHON,
};

/** These take minutes on the clock. They begin first, so that none of them is left alone at the end. */
export const LONGEST: readonly string[] = [
  'test/fault/damages.test.ts',
  'test/chain/alertPages.test.ts',
  'test/fault/alertResources.test.ts',
  'test/fault/alertCauses.test.ts',
  'test/fault/damagesOnChain.test.ts',
  'test/chain/nodes.test.ts',
  'test/fault/alertPages.test.ts',
  'test/chain/follower.test.ts',
  'test/fault/damagedBackups.test.ts',
  'test/chain/restored.test.ts',
  'test/cluster/fullDisk.test.ts',
  'test/cluster/signedAmounts.test.ts',
  'test/fault/damagesInCluster.test.ts',
];
