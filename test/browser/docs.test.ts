/** The documents in a real browser, at both widths and in both schemes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_CHROMIUM } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { pageServer } from '../support/pageServer.ts';
import { assertAccessible, openPage } from '../support/visitor.ts';

const skip = NO_CHROMIUM;

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
    [1280, 'light', ['/docs', '/docs/api/stream', '/docs/rules-17-chain']],
    [360, 'dark', ['/docs/signing', '/docs/api/prices', '/docs/search#fee', '/docs/no']],
  ] as const) {
    const visitor = await openPage({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true });
    for (const path of paths) {
      await visitor.page.goto(server.baseUrl + path);
      await eventually(`${path} is as wide as a screen of ${width}`, async () => {
        return (await visitor.page.evaluate('document.documentElement.scrollWidth')) === width;
      });
      await assertAccessible(visitor.page);
    }
  }
});

test('a reader searches by keyboard from any page, and can go back to the results', { skip }, async () => {
  const { page, complaints } = await openPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${server.baseUrl}/docs/signing`);
  await page.keyboard.press('/');
  const field = page.getByRole('searchbox', { name: 'Search the documents' });
  await field.waitFor();
  await page.keyboard.type('MAX_OPEN_ORDERS');
  await page.getByRole('main').getByRole('link', { name: 'MAX_OPEN_ORDERS', exact: true }).first().waitFor();
  await page.getByText(/^\d+ found, the likeliest first$/).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/settings#max_open_orders');
  await page.goBack();
  await page.getByText(/ found, /).waitFor();
  assert.equal(await field.inputValue(), 'MAX_OPEN_ORDERS');
  await field.fill('what is traded is deployed 17.31');
  await page.getByRole('link', { name: '17.31 What is traded is deployed', exact: true }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 2, name: '17.31 What is traded is deployed' }).waitFor();
  await page.goto(`${server.baseUrl}/docs/search#zzzz`);
  await page.getByText('Nothing found').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { level: 2, name: 'Command' }).waitFor();
  assert.deepEqual(complaints, []);
});

test('without scripts the search is a list of everything', { skip }, async () => {
  const { page } = await openPage({ javaScriptEnabled: false });
  await page.goto(`${server.baseUrl}/docs`);
  await page.getByRole('link', { name: 'Search', exact: true }).click();
  await page.getByRole('main').getByRole('link', { name: '17.31 What is traded is deployed' }).click();
  await page.getByRole('heading', { level: 2, name: '17.31 What is traded is deployed' }).waitFor();
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
