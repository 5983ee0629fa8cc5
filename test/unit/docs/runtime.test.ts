/** data/docs/runtime.md: what the project runs on, compared with what it installs, and with the calendar. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Part {
  readonly name: string;
  readonly version: string;
  /** The ends of days, as `YYYY-MM-DD`; empty if there is none. */
  readonly until: string;
  readonly decideBy: string;
}

const textOf = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
const PAGE = textOf('data/docs/runtime.md');
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;
const YEAR_DAYS = 365;
/** A decision that comes later leaves no time to carry it out. */
const LEAST_DAYS_LEFT = 90;

const rows = [...PAGE.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]*)\| ([^|]*)\| [^|]+ \|$/gm)]
  .map(
    ([, name, version, until, decideBy]): Part => ({
      ...{ name: name!.trim(), version: version!.trim() },
      ...{ until: until!.trim(), decideBy: decideBy!.trim() },
    }),
  )
  .filter(({ name }) => name !== 'part' && !name.startsWith('---'));

const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / DAY_MS;

/** Returns why a step is due on this day; null if nothing is due. */
function due({ name, until, decideBy }: Part, today: string): string | null {
  if (until === '') return null;
  if (daysBetween(today, until) > YEAR_DAYS) return null;
  const since = `support of ${name} ends on ${until}`;
  if (decideBy === '') return `${since}: runtime.md does not say by when the next step is decided`;
  if (daysBetween(decideBy, until) < LEAST_DAYS_LEFT) return `${since}: ${decideBy} is too late to decide`;
  return today <= decideBy ? null : `${since}: the next step was to be decided by ${decideBy}`;
}

test('runtime.md has the versions that the project installs and its documents ask for', () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(textOf('package.json'));
  const [, packed] = dependencies['uWebSockets.js'].split('@');
  const [, debian] = /^ARG RUN_IMAGE=debian:(\w+)-slim$/m.exec(textOf('data/deploy/Dockerfile'))!;
  const [, postgres] = /^PostgreSQL (\d+) or later/m.exec(textOf('data/docs/cluster.md'))!;
  const nodes = new Set(Object.values(optionalDependencies as Record<string, string>).map((v) => v.split('.')[0]));
  assert.equal(nodes.size, 1, 'one major version on every platform');
  assert.deepEqual(Object.fromEntries(rows.map(({ name, version }) => [name, version])), {
    Node: [...nodes][0],
    'uWebSockets.js': `${packed} of \`uws-pack\``,
    'SQLite in better-sqlite3': dependencies['better-sqlite3'],
    PostgreSQL: postgres,
    Debian: { bookworm: '12', trixie: '13' }[debian!],
    'Solidity compiler': devDependencies.solc,
  });
});

test('no support ends within a year without a day by which the next step is decided', () => {
  for (const { until, decideBy } of rows) {
    for (const date of [until, decideBy]) if (date !== '') assert.match(date, DATE);
  }
  const today = new Date().toISOString().slice(0, 10);
  assert.deepEqual(
    rows.map((part) => due(part, today)).filter((reason) => reason !== null),
    [],
  );
});

test('a support that ends is noticed a year before, and again on the day by which a step was promised', () => {
  const part = { name: 'X', version: '1', until: '2031-06-30', decideBy: '' };
  assert.equal(due(part, '2030-06-29'), null);
  assert.match(due(part, '2030-06-30')!, /^support of X ends on 2031-06-30: .* does not say by when/);
  const promised = { ...part, decideBy: '2031-01-31' };
  assert.equal(due(promised, '2031-01-31'), null);
  assert.match(due(promised, '2031-02-01')!, /was to be decided by 2031-01-31$/);
  assert.match(due({ ...part, decideBy: '2031-04-02' }, '2030-06-30')!, /2031-04-02 is too late/);
  assert.equal(due({ ...part, until: '' }, '2099-01-01'), null, 'without an end');
});
