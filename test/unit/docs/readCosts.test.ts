/** The table of reads at their worst (data/docs/tables.md) has every read of the router, and keeps the bound. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LIMIT_CLASSES, TIER_LIMITS } from '../../../gateway/base/classes.ts';
import type { Route } from '../../../gateway/http/route.ts';
import { routeTable } from '../../../gateway/wiring/routeTable.ts';
import { anything } from '../../support/anything.ts';

const text = readFileSync(new URL('../../../data/docs/tables.md', import.meta.url), 'utf8');
const MOST_CORES = 0.1;
const HELD_UP = 'held up';
const NOT_LIMITED = '–';

type Cost = {
  readonly read: string;
  readonly perSecond: string;
  readonly ms: number;
  readonly cores: string;
  readonly how: string;
};

function costs(): Cost[] {
  const section = text.split('## Reads at their worst')[1]!.split('\n## ')[0]!;
  return [...section.matchAll(/^\| `([A-Z]+ [^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$/gm)].map((row) => {
    const [, read, perSecond, ms, cores, how] = row.map((cell) => cell.trim());
    return { read: read!, perSecond: perSecond!, ms: Number(ms), cores: cores!, how: how! };
  });
}

/** Every route that answers without a change, for strangers and accounts. */
function reads(): Route[] {
  const isFor = (access: string): boolean => access === 'public' || access === 'authenticated' || access.includes(':');
  return routeTable(anything).filter(
    ({ method, changes, access, path }) =>
      (method === 'GET' || changes === false) && isFor(access) && !path.startsWith('/admin'),
  );
}

/** The rate of the address, of a session's account or of a standard key, whichever may ask most often. */
function perSecondOf({ limit, access }: Route): string {
  const ofClass = LIMIT_CLASSES[limit];
  if (ofClass === null) return NOT_LIMITED;
  const ofKey = access === 'public' ? 0 : TIER_LIMITS.standard.requests / TIER_LIMITS.standard.windowSec;
  return String(Number(Math.max(ofClass.requests / ofClass.windowSec, ofKey).toFixed(2)));
}

test('every read of the router is in the table once, as often as its limit lets one client ask', () => {
  const expected = reads().map((route) => `${route.method} ${route.path}: ${perSecondOf(route)}`);
  const listed = costs().map(({ read, perSecond }) => `${read}: ${perSecond}`);
  assert.deepEqual(listed.toSorted(), expected.toSorted());
});

test('no read takes more than a tenth of a core: by its limit, or because its client is held up (7.1)', () => {
  for (const { read, perSecond, ms, cores, how } of costs()) {
    assert.ok(ms >= 0, read);
    if (perSecond === NOT_LIMITED) continue;
    assert.ok(Number(cores) <= MOST_CORES, `${read} takes ${cores} cores`);
    const byLimit = (ms * Number(perSecond)) / 1000;
    if (byLimit > MOST_CORES) assert.ok(how.includes(HELD_UP), `${read} would take ${byLimit} cores`);
    else assert.ok(Math.abs(Number(cores) - byLimit) <= 0.01, `${read}: ${cores} cores are not ${byLimit}`);
  }
});
