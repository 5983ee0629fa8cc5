/**
 * `npm run test:fresh`: the project as a clone has it is installed, started and used for an order on machines that
 * have a Node, its npm and a shell, and neither compiler nor make nor Python. Not part of `npm test`: it takes a minute
 * and downloads the Nodes and npms it installs with. `npm run check` of such a clone is the second step of .ci/run.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';
import { environment, IS_SUPPORTED, NODES, type NodeMajor, type NpmMajor, nodeOf, program } from './nodes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The npm that each Node ships with. */
const MACHINES: readonly { readonly node: NodeMajor; readonly npm: NpmMajor }[] = [
  { node: 20, npm: 10 },
  { node: 22, npm: 10 },
  { node: 24, npm: 11 },
];
type Machine = (typeof MACHINES)[number];
/** The exchange runs on the same Node on each machine: one rehearses and makes the whole demo, as a newcomer's does. */
const NODE_OF_FULL_START = 22;
const QUICK_START = { DEMO_FLOW: 'off', DEMO_RAMP: 'off', REHEARSE: 'off' };

/** An install took more than five minutes beside the other stages of CI. */
const COMMAND_LIMIT_MS = 900_000;
const START_LIMIT_MS = 600_000;
const STOP_LIMIT_MS = 300_000;

const directory = temporaryDirectory();

/** A copy of the project and a PATH that holds `node`, `npm`, `npx` and `sh` only. */
function prepare({ node, npm }: Machine): { copy: string; env: NodeJS.ProcessEnv } {
  const machine = join(directory, `node-${node}`);
  const bin = join(machine, 'bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(nodeOf(node), join(bin, 'node'));
  for (const name of ['npm', 'npx']) symlinkSync(program(`npm-${npm}/bin/${name}-cli.js`), join(bin, name));
  symlinkSync('/bin/sh', join(bin, 'sh'));
  const copy = join(machine, 'exchange');
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' });
  for (const path of listed.split('\0')) if (path !== '') cpSync(join(ROOT, path), join(copy, path));
  const settings = node === NODE_OF_FULL_START ? {} : QUICK_START;
  return { copy, env: { ...environment(), PATH: bin, PORT: '0', npm_config_update_notifier: 'false', ...settings } };
}

/** Resolves once the server says that it listens. */
async function start(copy: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const server = spawn('npm', ['start'], { cwd: copy, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const printed: string[] = [];
  createInterface({ input: server.stderr }).on('line', (line) => printed.push(line));
  await new Promise<void>((resolve, reject) => {
    const fail = (reason: string) => reject(new Error([reason, ...printed].join('\n')));
    const limit = setTimeout(() => fail('the server did not start in time'), START_LIMIT_MS);
    server.once('close', (code) => fail(`the server ended with code ${code}`));
    createInterface({ input: server.stdout }).on('line', (line) => {
      printed.push(line);
      if (!line.includes('"listening"')) return;
      clearTimeout(limit);
      resolve();
    });
  });
  return server;
}

for (const machine of MACHINES) {
  const title = `a fresh machine with Node ${machine.node} and npm ${machine.npm} runs the exchange`;
  test(title, { skip: IS_SUPPORTED ? false : 'the Nodes it installs with are those of Linux x64' }, async (t) => {
    const { copy, env } = prepare(machine);
    const run = (command: string, ...args: string[]): string => {
      const { status, stdout, stderr } = spawnSync(command, args, {
        cwd: copy,
        env,
        encoding: 'utf8',
        timeout: COMMAND_LIMIT_MS,
      });
      assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`);
      return stdout;
    };
    assert.equal(run('node', '-v').trim(), `v${NODES[machine.node]}`);
    run('npm', 'ci', '--no-audit', '--no-fund');
    // The runtime from the lock file, which also runs this test.
    assert.equal(run('node', 'shared/run.mjs', '-v').trim(), process.version);
    const server = await start(copy, env);
    const stop = (signal: NodeJS.Signals) => {
      // The whole group: npm, its shell, run.mjs and the server.
      if (server.exitCode === null && server.signalCode === null) process.kill(-server.pid!, signal);
    };
    t.after(() => stop('SIGKILL'));
    // The market of the README: others have coarser ticks, and the first one of a list depends on the demo's trades.
    const market = run('npx', 'pmx', 'markets', 'search', 'governing coalition', '--ids').trim();
    const printed = run('npx', 'pmx', 'place', market, '--side', 'buy', '--price', '0.55', '--size', '10');
    assert.match(printed, /^status {6}\w+$/m);
    const closed = once(server, 'close', { signal: AbortSignal.timeout(STOP_LIMIT_MS) });
    stop('SIGTERM');
    await closed;
  });
}
