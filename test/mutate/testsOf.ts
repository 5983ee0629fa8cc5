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
/** Steps of imports after which a test has little to do with a source. */
const MOST_STEPS = 4;
const MOST_DISTANT_TESTS = 6;

/** The first prefix that fits: the tests over a server process, or over many threads, that use the sources below it. */
export const AREAS: readonly (readonly [prefix: string, tests: readonly string[]])[] = [
  ['engine/core', ['sim/equivalence', 'sim/crash', 'api/orders']],
  ['engine/money', ['sim/equivalence', 'sim/crash']],
  ['engine/book', ['sim/equivalence', 'sim/crash']],
  ['engine/journal', ['sim/crash', 'sim/durable', 'fault/kill', 'fault/restart']],
  ['engine/shard', ['sim/crash', 'api/shards', 'fault/restart']],
  ['engine/snapshot', ['sim/crash', 'fault/restart']],
  ['engine/projector', ['api/orders', 'fault/privateStream']],
  ['engine/admin', ['api/admin-cli']],
  ['engine', ['sim/equivalence', 'sim/crash', 'api/orders']],
  ['gateway/access', ['api/edge', 'api/allowList', 'api/independent', 'fuzz/http']],
  ['gateway/http', ['api/transport', 'api/edge', 'api/openapi', 'api/pipelining', 'fuzz/http']],
  ['gateway/idempotency', ['api/idempotency', 'fault/idempotency']],
  ['gateway/limits', ['api/limits', 'api/edge', 'fault/redis']],
  ['gateway/operator', ['api/admin', 'api/markets', 'api/metrics', 'api/drills', 'api/adminEvents', 'api/contracts']],
  ['gateway/process', ['fault/restart', 'api/platform']],
  ['gateway/queries', ['api/orders', 'api/idempotency', 'fault/privateStream']],
  ['gateway/replay', ['api/replay', 'api/recording']],
  ['gateway/routes/account/funds.ts', ['api/funds']],
  ['gateway/routes/account/claims.ts', ['api/resolution']],
  ['gateway/routes/account/rateLimits.ts', ['api/limits']],
  ['gateway/routes/account/tradingTimeouts.ts', ['api/tradingTimeouts']],
  ['gateway/routes/account', ['api/orders', 'api/book', 'api/conformance']],
  ['gateway/routes/admin/resolution.ts', ['api/resolution']],
  ['gateway/routes/admin', ['api/admin', 'api/markets', 'api/funds', 'api/drills', 'api/adminEvents', 'api/contracts']],
  ['gateway/routes/public/books.ts', ['api/book']],
  ['gateway/routes/public/marketData.ts', ['api/marketData', 'api/book']],
  ['gateway/routes/public', ['api/platform', 'api/markets', 'api/metrics', 'api/openapi']],
  ['gateway/routes/trading/batches.ts', ['api/batch', 'api/idempotency']],
  ['gateway/routes/trading/heartbeat.ts', ['api/heartbeat']],
  ['gateway/routes/trading/orderGroups.ts', ['api/orderGroups']],
  ['gateway/routes/trading', ['api/orders', 'api/replace', 'api/clientIds', 'api/idempotency']],
  ['gateway/routes', ['api/markets', 'api/orders', 'api/conformance', 'api/openapi']],
  ['gateway/shardlink', ['api/shards', 'api/orders', 'fault/restart']],
  ['gateway/store', ['api/admin', 'api/markets', 'fault/restart']],
  ['gateway/stream', ['api/streamFlow', 'api/stream', 'api/clientStream', 'fault/privateStream']],
  ['gateway/trading', ['api/orders', 'api/replace', 'api/clientIds', 'api/orderGroups', 'api/heartbeat']],
  ['gateway/views', ['api/book', 'api/orders', 'api/marketData', 'api/streamFlow']],
  ['gateway', ['api/platform', 'api/orders', 'api/shards', 'fault/restart', 'api/metrics']],
  ['shared/api', ['api/openapi', 'api/orders', 'api/markets', 'fuzz/http']],
  ['shared/client/stream', ['api/clientStream', 'api/recording', 'fault/clientStream']],
  ['shared/client', ['api/orders', 'api/independent', 'api/admin-cli']],
  ['shared', ['sim/equivalence', 'sim/crash', 'api/orders', 'api/book']],
].map(([prefix, names]) => [prefix, (names as string[]).map((name) => `test/${name}.test.ts`)] as [string, string[]]);

export class TestMap {
  /** By file: the tests that reach it, and in how many steps. */
  readonly #reached = new Map<string, Map<string, number>>();
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    const tests = globSync('test/{unit,sim,api,fault}/**/*.test.ts', { cwd: root }).filter(
      (path) => !path.startsWith('test/unit/tidy/'),
    );
    for (const test of tests.sort()) this.#walk(test);
  }

  /** In the order in which they are to run. */
  testsOf(source: string): string[] {
    const mirror = `test/unit/${source.replace(/\.ts$/, '.test.ts')}`;
    const found = [...(this.#reached.get(source) ?? [])].sort(([a, aSteps], [b, bSteps]) => {
      return aSteps - bSteps || costOf(a) - costOf(b) || common(b, source) - common(a, source) || (a < b ? -1 : 1);
    });
    const direct = found.filter(([, steps]) => steps === 1).map(([test]) => test);
    const distant = found.filter(([test, steps]) => steps > 1 && costOf(test) === 0).map(([test]) => test);
    const ofArea = AREAS.find(([prefix]) => source.startsWith(prefix))?.[1] ?? [];
    const mirrors = direct.includes(mirror) ? [mirror] : [];
    return [...new Set([...mirrors, ...direct, ...distant.slice(0, MOST_DISTANT_TESTS), ...ofArea])];
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
