/**
 * `npm run test:fresh`: the packages of the client that `npm run build` makes, installed in empty folders, trade with
 * every Node, with Deno and with Bun: imported, required, and as `pmx`. Not part of `npm test`.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { generatePrivateKey } from 'viem/accounts';
import { makePlace } from '../guides/project.ts';
import { startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { IS_SUPPORTED, NODES, type NodeMajor, nodeOf, program } from './nodes.ts';

const run = promisify(execFile);
const LIMIT_MS = 900_000;

const skip = !IS_SUPPORTED;
const { directory: project, environment } = makePlace(0);
const folderOf = (name: string): string => join(project, '..', `user-of-${name}`);

const TRADE = `async function trade({ ApiKey, ExchangeClient }) {
  const { BASE_URL: baseUrl, MARKET_ID: marketId, PRIVATE_KEY: wallet, ...env } = process.env;
  const keys = { keyId: env.API_KEY, secret: env.API_SECRET, passphrase: env.API_PASSPHRASE };
  const client = new ExchangeClient({ baseUrl, credentials: new ApiKey(keys), wallet });
  const order = await client.place({ marketId, outcomeIndex: 0, side: 'BUY', price: '0.01', size: '10' });
  await order.cancel();
  console.log(order.answer.status, (await order.done).status);
  client.close();
}`;
const PROGRAMS = {
  'trade.mjs': `import * as client from 'pmx-client';\n${TRADE}\nawait trade(client);`,
  'trade.cjs': `${TRADE}\ntrade(require('pmx-client'));`,
};

before(async () => {
  if (skip) return;
  await run('npm', ['run', '-s', 'build'], { cwd: project, env: environment, timeout: LIMIT_MS });
  for (const name of ['pmx-client', 'pmx-cli']) {
    mkdirSync(folderOf(name));
    writeFileSync(join(folderOf(name), 'package.json'), '{"private":true}');
    const file = execFileSync('sh', ['-c', `ls dist/${name}-*.tgz`], { cwd: project, encoding: 'utf8' }).trim();
    const args = ['install', '--ignore-scripts', join(project, file)];
    await run('npm', args, { cwd: folderOf(name), env: environment, timeout: LIMIT_MS });
  }
  for (const [name, text] of Object.entries(PROGRAMS)) writeFileSync(join(folderOf('pmx-client'), name), text);
});

describe('the packages of the client', { skip }, async () => {
  const server = await startServer({ after });
  const market = await makeMarket(server);
  const privateKey = generatePrivateKey();
  const { credentials } = await makeTrader(server, { privateKey });
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: folderOf('pmx-client'),
    BASE_URL: server.baseUrl,
    MARKET_ID: market.id,
    PRIVATE_KEY: privateKey,
    API_KEY: credentials.keyId,
    API_SECRET: credentials.secret,
    API_PASSPHRASE: credentials.passphrase,
  };

  const runtimes: [string, () => [string, ...string[]]][] = [
    ...(Object.keys(NODES).map(Number) as NodeMajor[]).map((major): [string, () => [string]] => [
      `Node ${major}`,
      () => [nodeOf(major)],
    ]),
    ['Bun', () => [program('@oven/bun-linux-x64/bin/bun')]],
    ['Deno', () => [program('@deno/linux-x64-glibc/deno'), 'run', '--allow-all']],
  ];

  for (const [name, commandOf] of runtimes) {
    test(`${name} imports and requires the client: an order is placed, cancelled and followed to its end`, async () => {
      const [command, ...args] = commandOf();
      for (const file of Object.keys(PROGRAMS)) {
        const options = { cwd: folderOf('pmx-client'), env, timeout: LIMIT_MS };
        const { stdout, stderr } = await run(command, [...args, file], options);
        assert.deepEqual([file, stdout, stderr], [file, 'open cancelled\n', '']);
      }
    });
  }

  for (const major of Object.keys(NODES).map(Number) as NodeMajor[]) {
    test(`pmx places an order with Node ${major}, and no server is installed`, async () => {
      const pmx = join(folderOf('pmx-cli'), 'node_modules/.bin/pmx');
      const args = [pmx, 'place', market.id, '--side', 'buy', '--price', '0.02', '--size', '10'];
      const { stdout } = await run(nodeOf(major), args, { cwd: folderOf('pmx-cli'), env, timeout: LIMIT_MS });
      assert.match(stdout, /^status +open$/m);
    });
  }
});
