/**
 * What does each read cost at its worst, and how much of a core may one address, account or key use with it? Every
 * route that only reads, except those of administrators, is requested on an exchange with 100,000 markets and an
 * account with a long history (readExchange.ts), with the worst arguments that a search finds (readSearch.ts). Reads
 * that would take more than a tenth of a core at their allowed rate are then sent at that rate with limits on. The
 * table is in data/docs/tables.md.
 */

import { LIMIT_CLASSES, TIER_LIMITS } from '../gateway/base/classes.ts';
import type { Route } from '../gateway/http/route.ts';
import { routeTable } from '../gateway/wiring/routeTable.ts';
import { anything } from '../test/support/anything.ts';
import { temporaryDirectory } from '../test/support/directory.ts';
import { whenIdle } from './processStat.ts';
import { SIZES, startReadExchange } from './readExchange.ts';
import { ReadSearch, shownOf } from './readSearch.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const MOST_CORES = 0.1;

type Measured = Awaited<ReturnType<ReadSearch['worstOf']>> & {
  readonly route: Route;
  readonly perSecond: number;
  readonly cores: number;
  readonly stolen: number | string;
};

export async function run({ reads = [] }: { readonly reads?: readonly string[] }): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const { server, known } = await startReadExchange({ after: (end) => cleanUps.push(end) }, temporaryDirectory());
    const search = new ReadSearch(server, known);
    cleanUps.push(() => search.close());
    const routes = readRoutes();
    await search.start(routes[0]);
    const measured: Measured[] = [];
    for (const route of routes.filter(({ path }) => reads.length === 0 || reads.includes(path))) {
      const steal = new StealMeter();
      const worst = await search.worstOf(route);
      const perSecond = perSecondOf(route);
      measured.push({ route, ...worst, perSecond, cores: (worst.costMs * perSecond) / 1000, stolen: steal.percent() });
    }
    await server.restart({ RATE_LIMITS: 'on' });
    await whenIdle(server.pid!);
    const rows: Row[] = [];
    for (const each of measured) {
      const isMore = each.cores > MOST_CORES && each.perSecond !== Number.POSITIVE_INFINITY;
      rows.push(rowOf(each, isMore ? await search.coresOf(each.route, each.given, each.perSecond) : each.cores));
    }
    const limited = rows.filter((row) => row['a second'] !== Number.POSITIVE_INFINITY);
    const most = limited.reduce((worst, row) => (Number(row['cores']) > Number(worst['cores']) ? row : worst));
    return {
      bench: 'hostileReads',
      settings:
        `${SIZES.markets} markets, ${SIZES.large} of one event, ${SIZES.orders} orders of an account, one shard; ` +
        'processor time of all threads for one request at its worst',
      rows,
      goals: [atMost(`most cores of one client, ${most['read']}`, Number(most['cores']), MOST_CORES)],
    };
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

function rowOf({ route, costMs, status, given, perSecond, cores, stolen }: Measured, limited: number): Row {
  return {
    read: `${route.method} ${route.path}`,
    'worst ms': costMs,
    'a second': perSecond,
    'cores, not held up': cores,
    cores: limited,
    status,
    arguments: shownOf(given),
    [STOLEN]: stolen,
  };
}

/** All routes that only read, for strangers and accounts. */
function readRoutes(): Route[] {
  const isFor = (access: string): boolean => access === 'public' || access === 'authenticated' || access.includes(':');
  return routeTable(anything).filter(
    ({ method, changes, access, path }) =>
      (method === 'GET' || changes === false) && isFor(access) && !path.startsWith('/admin'),
  );
}

/** The rate of the address, of a session's account or of a standard key, whichever may ask most often. */
function perSecondOf({ limit, access }: Route): number {
  const ofClass = LIMIT_CLASSES[limit];
  if (ofClass === null) return Number.POSITIVE_INFINITY;
  const ofKey = access === 'public' ? 0 : TIER_LIMITS.standard.requests / TIER_LIMITS.standard.windowSec;
  return Math.max(ofClass.requests / ofClass.windowSec, ofKey);
}
