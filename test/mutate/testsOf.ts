/**
 * The tests that are most likely to notice a fault in a source, in the order in which they are worth running: the test
 * with the source's path, those that import it, those that reach it through what they share, and the tests over a
 * server process that AREAS names.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const IMPORT = /^(?:import|export)\s(?!type\b)[^;]*?from\s+'(\.[^']+)'/gm;
/** An entry point of a thread: `new Worker(new URL('./main.ts', import.meta.url))`. */
const THREAD = /new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g;
/** A server reaches everything, so its edge would say nothing. */
const SERVER = 'gateway/main.ts';
export const OVER_PROCESSES = /^test\/(?!unit|sim)/;
/** Steps of imports after which a test has little to do with a source. */
const MOST_STEPS = 4;
const MOST_DISTANT_TESTS = 4;
/** The most tests over a process, outside of the source's area, that import it directly. */
const MOST_PROCESS_TESTS = 2;

/** The first prefix that fits: the tests over a server process, or over many threads, that use the sources below it. */
export const AREAS: readonly (readonly [prefix: string, tests: readonly string[]])[] = [
  ['engine/book/hashIndex.ts', ['sim/equivalence', 'sim/crash']],
  ['engine/journal', ['sim/crash', 'sim/durable', 'fault/kill']],
  ['engine/shard', ['sim/crash', 'api/shards', 'fault/restart']],
  ['engine/snapshot', ['sim/crash', 'fault/restart']],
  ['engine/projector/catalog.ts', ['unit/engine/projector/catalog', 'api/marketLists']],
  ['engine/projector/catalogEvents.ts', ['unit/engine/projector/catalog', 'api/marketLists']],
  ['engine/projector', ['api/orderRecords', 'fault/privateStream']],
  ['engine/admin', ['api/admin-cli']],
  ['engine/replication/copyTable.ts', ['cluster/joinInterrupted']],
  ['engine/replication/gaps.ts', ['cluster/joinInterrupted']],
  ['engine/replication/giver.ts', ['cluster/joinInterrupted']],
  ['engine/replication/giving.ts', ['cluster/joinInterrupted']],
  ['engine/replication/givingMain.ts', ['cluster/joinInterrupted']],
  ['engine/replication/join.ts', ['cluster/joinInterrupted']],
  ['engine/replication/joiningFiles.ts', ['cluster/joinInterrupted']],
  ['engine/replication/prepare.ts', ['cluster/joinInterrupted']],
  ['engine/replication', ['sim/cluster', 'cluster/log', 'cluster/logFaults']],
  ['engine', ['sim/equivalence', 'sim/crash']],
  ['gateway/access/redisCounterStore.ts', ['fault/redis']],
  ['gateway/access/adminToken.ts', ['api/admin']],
  ['gateway/access/operators.ts', ['api/operators']],
  ['gateway/access/keys.ts', ['api/admin', 'api/edge']],
  ['gateway/access', ['api/edge', 'api/allowList', 'api/independent', 'api/limits']],
  ['gateway/account/adminFundsRoutes.ts', ['api/funds', 'api/admin']],
  ['gateway/account/claimsRoutes.ts', ['api/resolution']],
  ['gateway/account/fundsRoutes.ts', ['api/funds']],
  ['gateway/account/accounts.ts', ['api/admin']],
  ['gateway/account/funding.ts', ['api/funds', 'fault/restart']],
  ['gateway/account', ['api/orderRecords', 'api/idempotency', 'fault/privateStream', 'api/book', 'api/conformance']],
  ['gateway/base', ['fault/restart', 'api/platform', 'api/markets']],
  ['gateway/chain/contractRotation.ts', ['api/contracts']],
  ['gateway/front/reads.ts', ['unit/gateway/front/reads', 'api/frontLimits']],
  ['gateway/front', ['api/frontPlacements', 'api/frontOrders']],
  ['gateway/http/rateLimitRoutes.ts', ['api/limits']],
  ['gateway/http/openApiErrors.ts', ['unit/gateway/http/openapi']],
  ['gateway/http/requestCounts.ts', ['unit/gateway/http/pipeline']],
  ['gateway/http/openapi.ts', ['api/openapi', 'unit/gateway/http/openapi']],
  [
    'gateway/http',
    [
      'unit/gateway/http/pipeline',
      'api/transport',
      'api/transportIdentity',
      'api/transportAdmission',
      'api/edge',
      'api/pipelining',
    ],
  ],
  ['gateway/markets/adminResolutionRoutes.ts', ['api/resolution']],
  ['gateway/markets/adminCatalogRoutes.ts', ['api/markets']],
  ['gateway/markets/marketDataRoutes.ts', ['api/marketData', 'api/book']],
  ['gateway/markets/marketsRoutes.ts', ['api/marketLists', 'api/markets']],
  ['gateway/markets/booksRoutes.ts', ['api/book']],
  ['gateway/markets', ['api/markets', 'api/platform', 'api/openapi']],
  ['gateway/operator/adminOperatorsRoutes.ts', ['api/operators']],
  ['gateway/operator/adminPlatformRoutes.ts', ['api/platform', 'api/drills', 'api/contracts']],
  ['gateway/operator/adminFeedRoutes.ts', ['api/adminEvents']],
  ['gateway/operator/diskGuard.ts', ['fault/diskFull']],
  ['gateway/operator/metrics.ts', ['api/metrics']],
  ['gateway/operator/drills.ts', ['api/drills']],
  ['gateway/operator/feed.ts', ['api/adminEvents']],
  ['gateway/operator', ['api/markets', 'api/platform', 'api/admin', 'api/allowList']],
  ['gateway/programs/replay', ['api/recording']],
  [
    'gateway/shardlink',
    [
      'api/idempotency',
      'fault/idempotency',
      'fault/diskFull',
      'api/shards',
      'fault/restart',
      'api/book',
      'api/orders',
      'api/streamFlow',
    ],
  ],
  ['gateway/stream', ['api/streamFlow', 'api/stream', 'fault/privateStream', 'api/clientStream']],
  ['gateway/trading/tradingTimeoutsRoutes.ts', ['api/tradingTimeouts']],
  ['gateway/trading/orderGroupsRoutes.ts', ['api/orderGroups']],
  ['gateway/trading/heartbeatRoutes.ts', ['api/heartbeat']],
  ['gateway/trading/clientOrderIds.ts', ['api/clientIds']],
  ['gateway/trading/batchesRoutes.ts', ['api/batch', 'api/idempotency']],
  ['gateway/trading/groupCommands.ts', ['api/orderGroups']],
  ['gateway/trading', ['api/orders', 'api/orderCancels', 'api/replace', 'api/clientIds']],
  ['gateway/web/browser', ['browser/client', 'browser/ramp']],
  ['gateway/wiring/demo.ts', ['api/platform']],
  [
    'gateway/wiring',
    ['api/markets', 'api/orders', 'api/openapi', 'api/platform', 'api/shards', 'api/contracts', 'fault/restart'],
  ],
  ['gateway', ['api/platform', 'api/shards', 'fault/restart']],
  [
    'shared/api',
    ['unit/shared/api/bounds', 'unit/gateway/wiring/routeTable', 'api/openapi', 'api/orders', 'api/markets'],
  ],
  ['shared/client/admin.ts', ['api/admin']],
  ['shared/client/stream', ['api/clientStream', 'api/recording']],
  ['shared/client', ['api/orders', 'api/independent']],
  ['shared', ['sim/equivalence', 'sim/crash', 'api/orders']],
].map(([prefix, names]) => [prefix, (names as string[]).map((name) => `test/${name}.test.ts`)] as [string, string[]]);

export class TestMap {
  /** By file: the tests that reach it, and the number of steps. */
  readonly #reached = new Map<string, Map<string, number>>();
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    const tests = globSync('test/{unit,sim,api,fault}/**/*.test.ts', { cwd: root }).filter(
      (path) => !path.startsWith('test/unit/tidy/'),
    );
    for (const test of tests.sort()) this.#walk(test);
  }

  /** In the order in which they should run. */
  testsOf(source: string): string[] {
    const mirror = `test/unit/${source.replace(/\.ts$/, '.test.ts')}`;
    const found = [...(this.#reached.get(source) ?? [])].sort(([a, aSteps], [b, bSteps]) => {
      return aSteps - bSteps || costOf(a) - costOf(b) || common(b, source) - common(a, source) || (a < b ? -1 : 1);
    });
    const importing = found.filter(([, steps]) => steps === 1).map(([test]) => test);
    const overProcesses = importing.filter((test) => costOf(test) > 1);
    const direct = importing.filter((test) => costOf(test) <= 1);
    const distant = found.filter(([test, steps]) => steps > 1 && costOf(test) === 0).map(([test]) => test);
    const ofArea = AREAS.find(([prefix]) => source.startsWith(prefix))?.[1] ?? [];
    const mirrors = direct.includes(mirror) ? [mirror] : [];
    const inThread = [...mirrors, ...direct, ...distant.slice(0, MOST_DISTANT_TESTS)];
    const all = [...inThread, ...ofArea, ...overProcesses.slice(0, MOST_PROCESS_TESTS)];
    return [...new Set(all.sort((a, b) => Number(OVER_PROCESSES.test(a)) - Number(OVER_PROCESSES.test(b))))];
  }

  #walk(test: string): void {
    let frontier = [test];
    const seen = new Set(frontier);
    for (let steps = 1; steps <= MOST_STEPS; steps++) {
      frontier = frontier.flatMap((file) => this.#targetsOf(file)).filter((file) => !seen.has(file));
      for (const file of frontier) {
        if (seen.has(file)) continue;
        seen.add(file);
        const tests = this.#reached.get(file) ?? new Map();
        this.#reached.set(file, tests.set(test, steps));
      }
      frontier = [...new Set(frontier)];
    }
  }

  readonly #targets = new Map<string, readonly string[]>();

  #targetsOf(file: string): readonly string[] {
    let targets = this.#targets.get(file);
    if (targets === undefined) {
      const text = readFileSync(join(this.#root, file), 'utf8');
      const found = [...text.matchAll(IMPORT), ...text.matchAll(THREAD)].map(([, from]) => join(dirname(file), from));
      targets = found.filter((target) => target.endsWith('.ts') && target !== SERVER);
      this.#targets.set(file, targets);
    }
    return targets;
  }
}

/** 0 for what runs in the test's own thread. */
function costOf(test: string): number {
  return ['test/unit/', 'test/sim/', 'test/api/', 'test/fault/'].findIndex((folder) => test.startsWith(folder));
}

/** The number of words that two paths have in common. */
function common(a: string, b: string): number {
  const words = new Set(a.split(/[/.]/));
  return b.split(/[/.]/).filter((word) => words.has(word)).length;
}
