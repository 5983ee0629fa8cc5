/** The documents in a real browser, at both widths and in both schemes, and the script that they give to Python. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { pageServer } from '../support/pageServer.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { assertAccessible, openPage } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const STAND_IN = fileURLToPath(new URL('../support/python', import.meta.url));
const PYTHON = readFileSync(new URL('../../data/docs/python.md', import.meta.url), 'utf8');

const { server } = await pageServer();

test('a reader finds guides, reference and errors, and nothing is asked of another origin', { skip }, async () => {
  const { page, complaints } = await openPage({ viewport: { width: 1280, height: 900 } });
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(`${server.baseUrl}/docs`);
  await page.getByRole('main').getByRole('link', { name: 'Signing requests and orders' }).click();
  await page.getByRole('heading', { level: 1, name: 'Signing requests and orders' }).waitFor();
  await page.getByRole('button', { name: 'Copy' }).first().waitFor();
  await page.getByRole('navigation', { name: 'Documents' }).getByRole('link', { name: 'Orders', exact: true }).click();
  await page.getByRole('heading', { level: 2, name: 'POST /v1/orders', exact: true }).waitFor();
  await page.getByText('Errors', { exact: true }).nth(1).click();
  await page.getByRole('main').getByRole('link', { name: 'INVALID_TICK' }).first().click();
  await page.getByRole('heading', { level: 2, name: 'INVALID_TICK' }).waitFor();
  assert.equal(new URL(page.url()).hash, '#invalid_tick');
  assert.deepEqual([...new Set(asked.map((address) => new URL(address).origin))], [server.baseUrl]);
  assert.deepEqual(complaints, []);

  for (const [width, colorScheme, paths] of [
    [1280, 'light', ['/docs', '/docs/api/stream']],
    [360, 'dark', ['/docs/signing', '/docs/api/prices', '/docs/no']],
  ] as const) {
    const visitor = await openPage({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true });
    for (const path of paths) {
      await visitor.page.goto(server.baseUrl + path);
      assert.equal(await visitor.page.evaluate('document.documentElement.scrollWidth'), width, `${path} at ${width}`);
      await assertAccessible(visitor.page);
    }
  }
});

test('pages are compressed, checked again and closed to all else; an unknown one is a page and 404', async () => {
  const get = (path: string, encoding: string) => {
    return fetch(server.baseUrl + path, { headers: { 'accept-encoding': encoding } });
  };
  const page = await get('/docs/signing', 'br');
  assert.deepEqual(
    ['content-type', 'content-encoding', 'cache-control'].map((name) => page.headers.get(name)),
    ['text/html; charset=utf-8', 'br', 'no-cache'],
  );
  assert.match(
    page.headers.get('content-security-policy')!,
    /^default-src 'none'; script-src 'self'; style-src 'self'/,
  );
  const [, style] = /href="(\/docs\/assets\/docs\.[0-9a-f]+\.css)"/.exec(await page.text())!;
  const kept = await get(style!, 'gzip');
  assert.equal(kept.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assert.equal(kept.headers.get('content-encoding'), 'gzip');
  for (const path of ['/docs/nothing', '/docs/api/nothing', '/docs/assets/docs.0000000000.css', '/docs/not-found']) {
    const answer = await get(path, 'identity');
    assert.equal(answer.status, 404, path);
    assert.match(await answer.text(), /<h1>Nothing here<\/h1>/);
  }
  assert.equal((await get('/docs/signing.md', 'br')).headers.get('content-type'), 'text/markdown; charset=utf-8');
  assert.match(await (await get('/llms.txt', 'br')).text(), /^# Open prediction exchange\n/);
});

test('the Python script of the documents places an order', async (t) => {
  const run = promisify(execFile);
  const has = (module: string) =>
    run('python3', ['-c', `import ${module}`]).then(
      () => true,
      () => false,
    );
  if (!(await has('requests'))) return t.skip('python3 with the package requests is not installed');
  const isReal = await has('eth_account');
  if (!isReal) t.diagnostic('eth-account is not installed: its stand-in signs');
  const market = await makeMarket(server);
  const trader = await makeTrader(server);
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'place_order.py'), /^```py file=place_order\.py\n(.*?)^```$/ms.exec(PYTHON)![1]!);
  const { keyId, secret, passphrase } = trader.credentials;
  const privateKey = generatePrivateKey();
  await server.admin.addWallet(trader.userId, privateKeyToAccount(privateKey).address);
  const account = { key_id: keyId, secret, passphrase, private_key: privateKey };
  const { stdout } = await run('python3', ['place_order.py', 'BUY', 'yes', '0.55', '10'], {
    cwd: directory,
    env: {
      ...process.env,
      BASE_URL: server.baseUrl,
      ACCOUNT: JSON.stringify(account),
      MARKET: market.id,
      PYTHONPATH: isReal ? directory : `${directory}:${STAND_IN}`,
    },
  });
  const [, hash] = /^order (0x[0-9a-f]{64}) in .*\nopen [0-9a-f-]{36}\n$/.exec(stdout)!;
  const order = await trader.client.getOrder(hash!);
  assert.deepEqual([order.side, order.price, order.remaining], ['BUY', '0.55000000', '5500000']);
});
