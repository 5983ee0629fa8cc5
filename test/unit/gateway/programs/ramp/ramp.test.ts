/** The sandbox provider over HTTP: its pages, its partner's interface and its adapter (RULES.md 16.70 to 16.77). */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type { LaunchRequest } from '../../../../../gateway/fiat/provider.ts';
import { openSandbox } from '../../../../../gateway/fiat/sandbox.ts';
import { ProviderCalls, ProviderDown } from '../../../../../gateway/http/providerCalls.ts';
import { USUAL } from '../../../../../gateway/programs/ramp/switches.ts';
import { CUSTOMER, REFERENCE, startRamp } from '../../../../support/rampRig.ts';

const RETURN_URL = 'https://exchange.example/cash-out?id=1&x=<y>';
/** Never aborted: a group loads this file minutes before its first test, and a timeout would be over by then. */
const { signal } = new AbortController();
const ramp = await startRamp({ after });
const { url, rail, control, sent } = ramp;
const settings = { URL: url, API_KEY: ramp.apiKey, WEBHOOK_SECRETS: ramp.webhookSecret };
const sandbox = opened();

function opened(calls?: ProviderCalls) {
  const provider = openSandbox(settings, calls);
  assert.ok(typeof provider !== 'string', String(provider));
  return provider;
}

describe('the sandbox provider over HTTP', () => {
  beforeEach(async () => {
    await control('PUT', 'switches', { ...USUAL, listDelayMs: 0, payoutDelayMs: 0 });
  });

  function request(changes: Partial<LaunchRequest> = {}): LaunchRequest {
    return {
      sessionId: '7d6c0d0e-0000-4000-8000-000000000001',
      kind: 'offramp',
      partnerReference: REFERENCE,
      walletAddress: CUSTOMER,
      amount: '25.5',
      fiatCurrency: 'USD',
      paymentMethod: 'paypal',
      redirectUrl: RETURN_URL,
      clientIp: '127.0.0.1',
      ...changes,
    };
  }

  const listed = (reference: string, kind: 'onramp' | 'offramp' = 'offramp') =>
    sandbox.listTransactions(reference, kind, signal);

  async function jsonOf(response: Promise<Response>): Promise<Record<string, unknown>> {
    return (await (await response).json()) as Record<string, unknown>;
  }

  /** A browser with its cookie; it follows no redirection. */
  async function browse(launchUrl: string) {
    const entered = await fetch(launchUrl, { redirect: 'manual' });
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    const visit = (path: string, form?: Record<string, string>, headers: Record<string, string> = { origin: url }) => {
      const sentForm = form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) };
      return fetch(url + path, { redirect: 'manual', ...sentForm, headers: { cookie, ...headers } });
    };
    return { entered, visit };
  }

  test('16.70: the launch URL makes one browser the customer, and is then worth nothing', async () => {
    const { launchUrl, expiresAtMs } = await sandbox.createLaunch(request(), signal);
    assert.ok(launchUrl.startsWith(`${url}/launch/`) && expiresAtMs > Date.now());
    const { entered, visit } = await browse(launchUrl);
    assert.deepEqual([entered.status, entered.headers.get('location')], [303, '/customer']);
    assert.match(entered.headers.get('set-cookie')!, /; HttpOnly; SameSite=Lax$/);
    assert.equal((await browse(launchUrl)).entered.status, 410);
    const page = await visit('/customer');
    const text = await page.text();
    assert.equal(page.status, 200);
    assert.match(text, /<h1>Sell USDC<\/h1>[\s\S]*value="25\.5"[\s\S]*value="PAYPAL" checked/);
    const policy = page.headers.get('content-security-policy')!;
    assert.match(policy, /^default-src 'none'; style-src 'self'; form-action 'self' https:\/\/exchange\.example[ ;]/);
    assert.ok(!/<script|style=| on\w+=/.test(text));
    assert.equal((await fetch(`${url}/customer`)).status, 410);
    assert.equal((await visit('/nothing')).status, 404);
    assert.equal((await visit('/style.css')).headers.get('content-type'), 'text/css; charset=utf-8');
  });

  test('16.74: a customer agrees by a form of this page alone, and comes back to the exchange', async () => {
    const reference = `${REFERENCE.slice(0, -1)}a`;
    const { launchUrl } = await sandbox.createLaunch(request({ partnerReference: reference }), signal);
    const { visit } = await browse(launchUrl);
    const form = { amount: '7.25', method: 'PAYPAL' };
    for (const foreign of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site', origin: url },
    ]) {
      assert.equal((await visit('/customer/agree', form, foreign as Record<string, string>)).status, 403);
    }
    for (const [wrong, status] of [
      [{ amount: '0.5' }, 400],
      [{ amount: '1e9' }, 400],
      [{ amount: '"><b>' }, 400],
      [{ method: 'CASH' }, 400],
    ] as const) {
      const refused = await visit('/customer/agree', { ...form, ...wrong });
      assert.equal(refused.status, status);
      const text = await refused.text();
      assert.match(text, /role="alert"/);
      assert.ok(!text.includes('"><b>'));
    }
    assert.deepEqual(await listed(reference), []);
    const left = await visit('/customer/abandon', {});
    assert.deepEqual([left.status, left.headers.get('location')], [303, new URL(RETURN_URL).href]);
    const agreed = await visit('/customer/agree', form);
    assert.deepEqual([agreed.status, agreed.headers.get('location')], [303, new URL(RETURN_URL).href]);
    const [row] = await listed(reference);
    assert.deepEqual(
      [row.status, row.amount, row.toAddress],
      ['created', { value: '7.25', currency: 'USDC' }, rail.address],
    );
    assert.equal(row.deadlineMs, row.createdAtMs + 1_800_000);
    assert.equal((await visit('/customer/agree', form)).headers.get('location'), '/customer');
    assert.equal((await listed(reference)).length, 1);
    const text = await (await visit('/customer')).text();
    assert.match(
      text,
      /Send the USDC from the exchange[\s\S]*href="https:\/\/exchange\.example\/cash-out\?id=1&#38;x=/,
    );
  });

  test('16.75: the adapter sees a purchase through to its end, with every page of the list', async () => {
    const reference = `${REFERENCE.slice(0, -1)}b`;
    sent.length = 0;
    for (let purchase = 0; purchase < 102; purchase++) {
      const wish = request({ kind: 'onramp', partnerReference: reference, amount: '1', paymentMethod: 'CARD' });
      const { launchUrl } = await sandbox.createLaunch(wish, signal);
      assert.equal((await control('POST', 'customer', { launch_url: launchUrl })).status, 201);
    }
    const rows = await listed(reference, 'onramp');
    assert.equal(new Set(rows.map(({ transactionId }) => transactionId)).size, 102);
    await control('POST', 'step');
    rail.mine();
    await control('POST', 'step');
    const [started] = await listed(reference, 'onramp');
    assert.deepEqual([started.status, started.toAddress, started.deadlineMs], ['started', CUSTOMER, null]);
    assert.match(started.txHash!, /^0x/);
    rail.mine(40);
    await control('POST', 'step');
    assert.ok((await listed(reference, 'onramp')).every(({ status }) => status === 'success'));
    const { taken_micro, promised_micro }: Record<string, unknown> = await jsonOf(control('GET', 'books'));
    assert.deepEqual([taken_micro, promised_micro], [102_000_000, 0]);
    const last = sent.at(-1)!;
    const event = sandbox.verifyWebhook(last.headers, Buffer.from(last.body), Date.now());
    assert.equal(event?.partnerReference, reference);
    assert.equal(sandbox.verifyWebhook(last.headers, Buffer.from(`${last.body} `), Date.now()), null);
  });

  test('16.73: the adapter makes nothing of a provider that fails, hangs or answers garbage', async () => {
    for (const answers of ['errors', 'garbage', 'hanging']) {
      await control('PUT', 'switches', { answers });
      const impatient = opened(new ProviderCalls({ timeoutMs: answers === 'hanging' ? 20 : 60_000 }));
      await assert.rejects(impatient.listTransactions(REFERENCE, 'offramp', signal), ProviderDown, answers);
      await assert.rejects(impatient.createLaunch(request(), signal), ProviderDown, answers);
    }
    await control('PUT', 'switches', { answers: 'empty' });
    assert.deepEqual(await listed(`${REFERENCE.slice(0, -1)}b`, 'onramp'), []);
    const stranger = openSandbox({ ...settings, API_KEY: 'another' });
    assert.ok(typeof stranger !== 'string');
    await assert.rejects(stranger.createLaunch(request(), signal), /status 401/);
    for (const [changes, field] of [
      [{ walletAddress: '0x1' }, 'wallet_address'],
      [{ amount: '0' }, 'amount'],
      [{ fiatCurrency: 'usd' }, 'fiat_currency'],
      [{ paymentMethod: 'no method' }, 'payment_method'],
      [{ redirectUrl: 'https://evil.example/' }, null],
    ] as const) {
      await assert.rejects(sandbox.createLaunch(request(changes), signal), { name: 'LaunchRefused', field });
    }
  });

  test('16.73: lists lie about status, transaction and network as the switches say', async () => {
    const reference = `${REFERENCE.slice(0, -1)}c`;
    const { launchUrl } = await sandbox.createLaunch(request({ partnerReference: reference }), signal);
    await control('POST', 'customer', { launch_url: launchUrl });
    const listedHash = `0x${'ab'.repeat(32)}`;
    await control('PUT', 'switches', { listedHash, listedStatus: 'success', listedNetwork: 'base' });
    const [row] = await listed(reference);
    assert.deepEqual([row.status, row.txHash, row.network], ['success', listedHash, 'base']);
  });

  test('16.76: the page of the switches sets them, and says when one is not possible', async () => {
    const { launchUrl } = await sandbox.createLaunch(request(), signal);
    const { visit } = await browse(launchUrl);
    const { status, text } = await visit('/switches').then(async (page) => ({
      status: page.status,
      text: await page.text(),
    }));
    assert.equal(status, 200);
    assert.match(text, /<label for="hookCopies">/);
    const numbers = { listDelayMs: '0', payoutDelayMs: '5', hookDelayMs: '7', hookCopies: '2' };
    const choices = { listedStatus: '', listedHash: '', listedNetwork: 'polygon', answers: 'right' };
    const rest = { ...choices, statements: 'right', payoutsFail: 'on' };
    assert.equal((await visit('/switches', { ...numbers, ...rest })).status, 200);
    const set = await jsonOf(control('GET', 'switches'));
    assert.deepEqual([set['hookCopies'], set['payoutsFail'], set['returnsUsdc']], [2, true, false]);
    assert.equal((await visit('/switches', { ...numbers, ...rest, hookCopies: '99' })).status, 400);
    assert.equal((await visit('/switches', { ...numbers, ...rest }, { origin: 'https://evil.example' })).status, 403);
  });

  test('16.76: the control of tests needs the key, and a provider without it does not have it', async () => {
    assert.equal((await fetch(`${url}/control/books`)).status, 401);
    assert.equal((await control('POST', 'clock', { advance_ms: -1 })).status, 400);
    assert.equal((await control('POST', 'nothing')).status, 404);
    const { now_ms } = await jsonOf(control('POST', 'clock', { advance_ms: 3_600_000 }));
    assert.ok((now_ms as number) >= Date.now() + 3_500_000);
    const closed = await startRamp({ after }, { hasControl: false });
    assert.equal((await closed.control('GET', 'books')).status, 410);
    assert.equal((await fetch(`${closed.url}/switches`)).status, 410);
  });

  test('16.77: a request that is too long or malformed is refused, and the provider goes on', async () => {
    const long = { method: 'POST', body: 'x'.repeat(17_000) };
    assert.equal((await fetch(`${url}/customer/agree`, long)).status, 413);
    assert.equal((await fetch(`${url}//`)).status, 410);
    const list = (query: string) =>
      fetch(`${url}/v1/deals?${query}`, { headers: { authorization: `Bearer ${ramp.apiKey}` } });
    for (const query of [
      '',
      'kind=onramp',
      `kind=x&reference=${REFERENCE}`,
      `kind=onramp&reference=${REFERENCE}&limit=101`,
    ]) {
      assert.equal((await list(query)).status, 400, query);
    }
    assert.equal((await list(`kind=onramp&reference=${REFERENCE}`)).status, 200);
  });
});
