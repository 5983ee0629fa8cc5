/** `npm run demo -- --chain` gives an exchange whose trades settle, and leaves nothing behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';
import { freePort } from '../support/freePort.ts';
import type { Json } from '../support/server.ts';
import { NO_ANVIL } from './anvil.ts';

const MAIN = fileURLToPath(new URL('./demo.ts', import.meta.url));
/** Fewer files and less work at the start than a visitor's. */
const SMALL = { PORT: '0', SHARDS: '1', JOURNAL_RESERVE_MB: '0', REHEARSE: 'off' };

/** The text behind the name in a line like `  Chain        http://…   …`. */
function shown(lines: readonly string[], name: string): string {
  const value = lines.map((line) => new RegExp(`^ {2}${name} +(\\S+)`).exec(line)?.[1]).find((found) => found);
  assert.ok(value, `${name} is shown`);
  return value;
}

test('a demo on a chain carries its trades out there, and ends whole', { skip: NO_ANVIL }, async () => {
  const child = spawn(process.execPath, [...process.execArgv, MAIN, '--chain', '--chain-port', '0'], {
    env: { PATH: process.env['PATH'], ...SMALL },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  try {
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (/ is mined, transaction 0x[0-9a-f]{64}$/.test(line)) break;
    }
    const baseUrl = shown(lines, 'Exchange');
    const chainUrl = shown(lines, 'Chain');
    const directory = /in (\S+)\/demo\.json/.exec(lines.join('\n'))![1];
    assert.deepEqual(await (await fetch(`${baseUrl}/health/polygon`)).json(), { status: 'connected' });
    assert.ok(existsSync(directory));
    child.stdout.resume();
    child.kill('SIGINT');
    assert.deepEqual(await closed, [0, null]);
    await assert.rejects(fetch(baseUrl));
    await assert.rejects(fetch(chainUrl, { method: 'POST' }));
    assert.equal(existsSync(directory), false);
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
});

test('a demo with --polymarket answers their clients, and ends whole; on a chain there is none', async () => {
  const [port, own] = [await freePort(), await freePort()];
  const env = {
    PATH: process.env['PATH'],
    ...SMALL,
    PORT: String(port),
    DATA_DIR: temporaryDirectory(),
    DEMO_FLOW: 'off',
  };
  const child = spawn(process.execPath, [...process.execArgv, MAIN, '--polymarket'], {
    env: { ...env, POLYMARKET_URL: `http://127.0.0.1:${own}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  try {
    for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('Sockets ')) break;
    const read = async (path: string): Promise<Json> => (await fetch(`http://127.0.0.1:${own}${path}`)).json();
    const [market] = (await read('/sampling-markets')).data;
    const book = await read(`/book?token_id=${market.tokens[0].token_id}`);
    assert.equal(book.market, market.condition_id);
    child.stdout.resume();
    child.kill('SIGINT');
    assert.deepEqual(await closed, [0, null]);
    await assert.rejects(fetch(`http://127.0.0.1:${own}/time`));
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
  const both = spawn(process.execPath, [...process.execArgv, MAIN, '--chain', '--polymarket'], { stdio: 'ignore' });
  assert.deepEqual(await once(both, 'close'), [1, null]);
});
