/**
 * `npm run test:fresh`: installs the package of `npm run pack` in an empty folder, by npm and as far as possible from
 * its cache, and uses it there: starts, asks, checks and stops. Not part of `npm test`.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { BEST_VARIANT } from '../../engine/verify/kernel/instance.ts';
import { makePlace, ROOT } from '../guides/project.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/freePort.ts';

const run = promisify(execFile);
const LIMIT_MS = 900_000;
const STOP_LIMIT_MS = 60_000;
const MAX_BYTES = 3_500_000;
/** The project's files that a package has: all of the three wings, and the data that they read. */
const PACKED = /^(?:engine|gateway|shared|data\/(?:binaries\.json|demo|deploy|docs|schema)|\.env\.example)(?:\/|$)/;
/** Packages of their own. */
const OF_CLIENTS = /^shared\/client\/(?:npm|python)\//;
const OF_DEVELOPERS =
  /^(?:test|bench|\.ci|node_modules|data\/live)\/|(?:^|\/)(?:\.git|tsconfig|biome\.json|\.npmrc)|\.as$/;
/** `npm run polymarket` is for those who have the sources. */
const OF_SOURCES = /^gateway\/programs\/polymarket\/|^data\/schema\/polymarket-/;

const isLeftOut = (path: string): boolean =>
  [OF_DEVELOPERS, OF_CLIENTS, OF_SOURCES].some((leftOut) => leftOut.test(path));

const port = await freePort();
const { directory: project, environment } = makePlace(port);
const user = join(project, '../user');
/** npx and the bins, as the user's terminal finds them. */
const env = { ...environment, REHEARSE: 'on', npm_config_yes: 'false' };

let listed: string[] = [];
before(async () => {
  const packed = join(project, '..');
  await run('npm', ['run', '-s', 'pack', '--', '--pack-destination', packed], { cwd: project, env, timeout: LIMIT_MS });
  const [tarball] = readdirSync(packed).filter((name) => name.endsWith('.tgz'));
  const names = execFileSync('tar', ['-tzf', join(packed, tarball!)], { encoding: 'utf8' });
  listed = names.split('\n').flatMap((name) => (name === '' ? [] : [name.replace(/^package\//, '')]));
  assert.ok(readFileSync(join(packed, tarball!)).length < MAX_BYTES, 'the package is small');
  mkdirSync(user);
  writeFileSync(join(user, 'package.json'), '{"private":true}');
  const install = ['install', '--ignore-scripts', join(packed, tarball!)];
  await run('npm', install, { cwd: user, env, timeout: LIMIT_MS });
});

/** A bin of the package, in the user's folder. */
function bin(name: string, ...args: string[]) {
  return run(join(user, 'node_modules/.bin', name), args, { cwd: user, env, timeout: LIMIT_MS, encoding: 'utf8' });
}

describe('the package', () => {
  test('has every file of the wings and of their data, and each source without its types', () => {
    const tracked = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
    const missing = tracked.filter((path) => PACKED.test(path) && !isLeftOut(path) && existsSync(join(ROOT, path)));
    assert.deepEqual(
      missing.filter((path) => !listed.includes(path)),
      [],
    );
    const sources = listed.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
    const stripped = sources.filter((path) => path.startsWith('stripped/'));
    assert.ok(stripped.length > (sources.length - stripped.length) / 2);
  });

  test('has nothing that only developers need, and no state', () => {
    assert.deepEqual(listed.filter(isLeftOut), []);
  });

  test('has the file of each of its bins', () => {
    const { bin: bins } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    assert.ok('open-prediction-exchange' in bins);
    const files = Object.values<string>(bins).map((path) => path.replace(/^\.\//, ''));
    assert.deepEqual(
      files.filter((path) => !listed.includes(path)),
      [],
    );
  });
});

const lines: string[] = [];
const server = { end: async (): Promise<number | null> => null };

/** Resolves once it listens. */
async function start(): Promise<void> {
  const child = spawn(join(user, 'node_modules/.bin/open-prediction-exchange'), [], {
    cwd: user,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  server.end = async () => {
    const exited = once(child, 'exit', { signal: AbortSignal.timeout(STOP_LIMIT_MS) });
    child.kill('SIGTERM');
    const [code] = await exited;
    return code;
  };
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error([`ended with ${code}`, ...lines].join('\n'))));
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (line.includes('"msg":"listening"')) resolve();
    });
  });
}
after(() => server.end().catch(() => null));

describe('installed in an empty folder', () => {
  before(start);

  test('it starts with its data in that folder, and is healthy', async () => {
    assert.ok(existsSync(join(user, 'data/live/control.db')));
    await bin('open-prediction-exchange', 'health', '--ready', '--wait', '120');
    // Both kernels are files beside the sources, and the start names the one that this processor can run.
    const verifier = BEST_VARIANT === 'fused' ? 'kernel' : 'kernel-plain';
    assert.ok(
      lines.some((line) => line.includes(`"verifier":"${verifier}"`)),
      lines.join('\n'),
    );
  });

  test('its page has every asset that its document names', async () => {
    const url = `http://127.0.0.1:${port}`;
    const document = await (await fetch(url)).text();
    const assets = [...document.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    assert.ok(assets.length > 10, 'scripts, styles and libraries');
    for (const path of assets) {
      const response = await fetch(url + path);
      assert.equal(response.status, 200, path);
      await response.arrayBuffer();
    }
  });

  test('it serves its documents', async () => {
    for (const path of ['/docs', '/docs/deploy', '/docs/api', '/llms.txt']) {
      assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 200, path);
    }
  });

  test('it describes itself, and its binaries are compared', async () => {
    const document = await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).text();
    assert.match(document, /"openapi":"3\.1/);
    const check =
      'console.log(JSON.stringify((await import(process.argv[1])).packageFile("better-sqlite3/package.json")))';
    const packages = join(user, 'node_modules/open-prediction-exchange/shared/base/packages.ts');
    const sources = join(user, 'node_modules/open-prediction-exchange/shared/run.mjs');
    const { stdout } = await run(process.execPath, [sources, '--input-type=module', '-e', check, packages], { env });
    assert.equal(JSON.parse(stdout), join(user, 'node_modules/better-sqlite3/package.json'));
  });

  test('its pmx finds nothing wrong, and trades with an account of the demo', async () => {
    // An answer that takes a second is worth a warning, and a busy machine gives such answers.
    await eventually('all well', async () => (await bin('pmx', 'doctor')).stdout.endsWith('\nall well\n'));
    const { stdout } = await bin('pmx', 'markets', 'list', '--status', 'active', '--limit', '1', '--ids');
    const placed = await bin('pmx', 'place', stdout.trim(), '--side', 'buy', '--price', '0.05', '--size', '10');
    assert.match(placed.stdout, /^status +open$/m);
  });
});

describe('the bins of the package', () => {
  test('it is administered, stops in order, and every record is sound', async () => {
    assert.equal(await server.end(), 0);
    assert.ok(lines.some((line) => line.includes('"msg":"stopped"')));
    server.end = async () => null;
    const { stdout } = await bin('open-prediction-exchange', 'admin', 'journal', 'verify');
    assert.match(stdout, /^ok$/m);
  });

  test('a word that it does not know ends with its usage', async () => {
    const refused = bin('open-prediction-exchange', 'strat');
    await assert.rejects(refused, ({ code, stderr }) => code === 64 && /^Usage: open-prediction-exchange/.test(stderr));
  });
});
