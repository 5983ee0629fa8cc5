/** Coinbase against a server that behaves as its documents say, and one that does not (RULES.md 16.60 to 16.66). */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, beforeEach, describe, test } from 'node:test';
import { openCoinbase } from '../../../../gateway/fiat/coinbase.ts';
import { LaunchRefused, type LaunchRequest } from '../../../../gateway/fiat/provider.ts';
import { ProviderCalls, ProviderDown } from '../../../../gateway/http/providerCalls.ts';
import { boughtRow, CoinbaseServer, coinbaseHook, KEY_ID, makeKey, soldRow } from '../../../support/coinbaseServer.ts';

const REFERENCE = '0123456789abcdef0123456789abcdef';
const SECRETS = ['the-new-secret', 'the-old-secret'];
/** Never aborted: a group loads this file minutes before its first test, and a timeout would be over by then. */
const { signal } = new AbortController();

const key = makeKey('ed25519');
const server = await CoinbaseServer.start({ after }, key.publicKey);
const settings = {
  KEY_ID,
  KEY_SECRET: key.secret,
  WEBHOOK_SECRETS: SECRETS.join(','),
  API_URL: server.url,
  PAY_URL: 'https://pay.example/',
};
const coinbase = opened(settings);

function opened(changed: Record<string, string>, timeoutMs = 60_000) {
  const parts = { calls: new ProviderCalls({ timeoutMs }), retryPauseMs: 1 };
  const provider = openCoinbase(changed, parts);
  assert.ok(typeof provider !== 'string', String(provider));
  return provider;
}

describe('coinbase', () => {
  beforeEach(() => {
    server.faults.length = 0;
    server.seen.length = 0;
    server.maxPage = null;
  });

  function request(changes: Partial<LaunchRequest> = {}): LaunchRequest {
    return {
      sessionId: '7d6c0d0e-0000-4000-8000-000000000001',
      kind: 'offramp',
      partnerReference: REFERENCE,
      walletAddress: '0xa8a642fba80749318036c97344fc73ae0b64c608',
      amount: '25.5',
      fiatCurrency: 'USD',
      paymentMethod: 'ach_bank_account',
      redirectUrl: 'https://exchange.example/cash-out?id=1&x=y',
      clientIp: '203.0.113.9',
      ...changes,
    };
  }

  const listed = (kind: 'onramp' | 'offramp' = 'offramp') => coinbase.listTransactions(REFERENCE, kind, signal);

  test('16.61: a cash-out is launched with a session token of its own, good for five minutes', async () => {
    const beforeMs = Date.now();
    const { launchUrl, expiresAtMs } = await coinbase.createLaunch(request(), signal);
    assert.deepEqual(server.seen, [
      {
        path: 'POST /onramp/v1/token',
        body: {
          addresses: [{ address: '0xa8a642fba80749318036c97344fc73ae0b64c608', blockchains: ['polygon'] }],
          assets: ['USDC'],
          clientIp: '203.0.113.9',
        },
      },
    ]);
    const url = new URL(launchUrl);
    assert.equal(url.origin + url.pathname, 'https://pay.example/v3/sell/input');
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      sessionToken: server.tokens.at(-1),
      partnerUserRef: REFERENCE,
      redirectUrl: 'https://exchange.example/cash-out?id=1&x=y',
      defaultNetwork: 'polygon',
      defaultAsset: 'USDC',
      presetCryptoAmount: '25.5',
      defaultCashoutMethod: 'ACH_BANK_ACCOUNT',
      fiatCurrency: 'USD',
    });
    assert.ok(expiresAtMs >= beforeMs + 300_000 && expiresAtMs <= Date.now() + 300_000);
    const again = await coinbase.createLaunch(request(), signal);
    assert.notEqual(new URL(again.launchUrl).searchParams.get('sessionToken'), url.searchParams.get('sessionToken'));
  });

  test('16.61: a cash-in opens the page for buying, without the fields that the person has not chosen', async () => {
    const { launchUrl } = await coinbase.createLaunch(
      request({ kind: 'onramp', amount: null, paymentMethod: 'drop table', fiatCurrency: 'EUR' }),
      signal,
    );
    const url = new URL(launchUrl);
    assert.equal(url.pathname, '/buy/select-asset');
    assert.deepEqual(
      [...url.searchParams.keys()],
      ['sessionToken', 'partnerUserRef', 'redirectUrl', 'defaultNetwork', 'defaultAsset', 'fiatCurrency'],
    );
    const withAmount = await coinbase.createLaunch(request({ kind: 'onramp' }), signal);
    assert.equal(new URL(withAmount.launchUrl).searchParams.get('presetFiatAmount'), '25.5');
  });

  test('16.60: every request has a token of its own, by keys of both documented forms', async () => {
    const [one, two] = [makeKey('p256'), makeKey('ed25519')];
    for (const { secret, publicKey } of [one, two]) {
      const other = await CoinbaseServer.start({ after }, publicKey);
      const provider = opened({ ...settings, KEY_SECRET: secret.replaceAll('\n', '\\n'), API_URL: `${other.url}/` });
      await provider.createLaunch(request(), signal);
      await provider.listTransactions(REFERENCE, 'onramp', signal);
      await provider.listTransactions(REFERENCE, 'onramp', signal);
      assert.equal(other.nonces.size, 3);
    }
    await assert.rejects(opened({ ...settings, KEY_SECRET: two.secret }).createLaunch(request(), signal), ProviderDown);
  });

  test('16.60: settings that are wrong are refused without their values', () => {
    const mixed = Buffer.from(makeKey('ed25519').secret, 'base64').fill(7, 32).toString('base64');
    const wrong: [Record<string, string>, RegExp][] = [
      [{ KEY_ID }, /^KEY_SECRET: /],
      [{ ...settings, KEY_SECRET: 'c2hvcnQ=' }, /^KEY_SECRET: expected a key/],
      [{ ...settings, KEY_SECRET: mixed }, /^KEY_SECRET: expected a key/],
      [{ ...settings, KEY_SECRET: '-----BEGIN EC PRIVATE KEY-----\\nx' }, /^KEY_SECRET: expected a key/],
      [{ ...settings, API_URL: 'http://example.com' }, /^API_URL: expected https/],
      [{ ...settings, WEBHOOK_SECRETS: 'a,,b' }, /^WEBHOOK_SECRETS: /],
      [{ ...settings, KEY_SECRTE: 'x' }, /^KEY_SECRTE: /],
    ];
    for (const [each, reason] of wrong) {
      const refused = openCoinbase(each);
      assert.ok(typeof refused === 'string');
      assert.match(refused, reason);
      assert.ok(!Object.values(each).some((value) => value.length > 8 && refused.includes(value)));
    }
  });

  test('16.62: rows are read to the last page, newest first, each once', async () => {
    const rows = Array.from({ length: 7 }, (_, number) => soldRow({ transaction_id: `t${number}` }));
    server.setRows('sell', REFERENCE, [...rows.slice(0, 3), ...rows.slice(2)]);
    for (const size of [1, 2, 3, 50]) {
      server.maxPage = size;
      assert.deepEqual(
        (await listed()).map(({ transactionId }) => transactionId),
        rows.map((row) => row['transaction_id']),
      );
    }
    assert.equal(server.seen.at(-1)!.path, `GET /onramp/v1/sell/user/${REFERENCE}/transactions?pageSize=50`);
    server.setRows('sell', REFERENCE, []);
    assert.deepEqual(await listed(), []);
  });

  test('16.62: a list that goes in a circle, or has no end, counts as no answer', async () => {
    const page = (key: string) => (_: unknown, response: ServerResponse) => {
      response.end(JSON.stringify({ transactions: [soldRow({ transaction_id: key })], next_page_key: key }));
    };
    server.faults.push(page('a'), page('b'), page('a'));
    await assert.rejects(listed(), /no end/);
    server.faults.length = 0;
    server.faults.push(...Array.from({ length: 100 }, (_, number) => page(`k${number}`)));
    const before = server.requests;
    await assert.rejects(listed(), /no end/);
    assert.equal(server.requests - before, 20);
  });

  test('16.63: a row becomes the words of all providers, its amounts unchanged', async () => {
    server.setRows('sell', REFERENCE, [soldRow({ tx_hash: `0x${'AB'.repeat(32)}`, partner_user_ref: REFERENCE })]);
    const createdAtMs = Date.parse('2025-09-02T02:34:13Z');
    assert.deepEqual(await listed(), [
      {
        transactionId: '1ee7a7ec-fdd1-6032-ad91-0e2bacb520d3',
        status: 'created',
        asset: 'usdc',
        network: 'polygon',
        amount: { value: '25.000001', currency: 'USDC' },
        toAddress: '0x742d35cc6634c0532925a3b844bc454e4438f44e',
        fromAddress: '0xa8a642fba80749318036c97344fc73ae0b64c608',
        txHash: `0x${'ab'.repeat(32)}`,
        createdAtMs,
        updatedAtMs: Date.parse('2025-09-02T02:40:00Z'),
        deadlineMs: createdAtMs + 1_800_000,
      },
    ]);
    server.setRows('buy', REFERENCE, [boughtRow()]);
    const [bought] = await listed('onramp');
    assert.deepEqual(
      [bought.status, bought.amount, bought.deadlineMs],
      ['success', { value: '5', currency: 'USDC' }, null],
    );
    assert.equal(bought.toAddress, '0xe0512e358c347cc2b1a42d057065ce642068b7ba');
    assert.equal(bought.updatedAtMs, bought.createdAtMs);
    for (const nothing of ['', '0x', null, undefined]) {
      server.setRows('sell', REFERENCE, [soldRow({ tx_hash: nothing, to_address: nothing === '0x' ? '' : nothing })]);
      const [row] = await listed();
      assert.deepEqual([row.txHash, row.toAddress], [null, null]);
    }
  });

  test('16.63: every documented status has one meaning, and an unknown one none', async () => {
    const sold = {
      UNSPECIFIED: 'none',
      CREATED: 'created',
      EXPIRED: 'expired',
      STARTED: 'started',
      SUCCESS: 'success',
      FAILED: 'failed',
      NEW_ONE: 'none',
    };
    for (const [status, meaning] of Object.entries(sold)) {
      server.setRows('sell', REFERENCE, [soldRow({ status: `TRANSACTION_STATUS_${status}` })]);
      assert.equal((await listed())[0].status, meaning, status);
    }
    const bought = {
      TRANSACTION_STATUS_CREATED: 'created',
      TRANSACTION_STATUS_AWAITING_AUTH: 'created',
      TRANSACTION_STATUS_AWAITING_PAYMENT: 'created',
      TRANSACTION_STATUS_IN_PROGRESS: 'started',
      TRANSACTION_STATUS_SUCCESS: 'success',
      TRANSACTION_STATUS_FAILED: 'failed',
      ORDER_STATUS_PENDING_AUTH: 'created',
      ORDER_STATUS_PENDING_PAYMENT: 'created',
      ORDER_STATUS_PENDING_VERIFICATION: 'created',
      ORDER_STATUS_PROCESSING: 'started',
      ORDER_STATUS_COMPLETED: 'success',
      ORDER_STATUS_FAILED: 'failed',
      TRANSACTION_STATUS_UNSPECIFIED: 'none',
    };
    for (const [status, meaning] of Object.entries(bought)) {
      server.setRows('buy', REFERENCE, [boughtRow({ status: `ONRAMP_${status}` })]);
      assert.equal((await listed('onramp'))[0].status, meaning, status);
    }
  });

  test('16.63: one row that is not as documented makes the answer worthless', async () => {
    const wrong = [
      { sell_amount: { value: 25, currency: 'USDC' } },
      { sell_amount: { value: '1e3', currency: 'USDC' } },
      { sell_amount: { value: '-1', currency: 'USDC' } },
      { sell_amount: { value: '0x10', currency: 'USDC' } },
      { sell_amount: { value: '1', currency: 7 } },
      { sell_amount: 'all' },
      { transaction_id: '' },
      { status: 5 },
      { asset: undefined },
      { created_at: 'yesterday' },
      { to_address: {} },
      { partner_user_ref: 'another-session' },
    ];
    for (const fields of wrong) {
      server.setRows('sell', REFERENCE, [soldRow({ transaction_id: 'right' }), soldRow(fields)]);
      await assert.rejects(listed(), ProviderDown, JSON.stringify(fields));
    }
    server.setRows('sell', REFERENCE, [soldRow({ sell_amount: undefined })]);
    assert.equal((await listed())[0].amount, null);
  });

  test('16.64: reads are repeated after a failure, and nothing else is', async () => {
    server.setRows('sell', REFERENCE, [soldRow()]);
    const failing = (status: number) => (_: unknown, response: ServerResponse) => response.writeHead(status).end('{}');
    const hangingUp = (_: unknown, response: ServerResponse) => void response.destroy();
    server.faults.push(failing(500), hangingUp);
    assert.equal((await listed()).length, 1);
    for (const [faults, requests] of [
      [[failing(500), failing(502), failing(503)], 3],
      [[failing(429)], 1],
      [[failing(401)], 1],
      [[failing(404)], 1],
      [[failing(302)], 1],
    ] as const) {
      const before = server.requests;
      server.faults.push(...faults);
      await assert.rejects(listed(), ProviderDown);
      assert.equal(server.requests - before, requests);
    }
    const before = server.requests;
    server.faults.push(failing(500));
    await assert.rejects(coinbase.createLaunch(request(), signal), ProviderDown);
    assert.equal(server.requests - before, 1);
    for (const [status, error] of [
      [400, LaunchRefused],
      [422, LaunchRefused],
      [401, ProviderDown],
      [403, ProviderDown],
    ] as const) {
      server.faults.push(failing(status));
      await assert.rejects(coinbase.createLaunch(request(), signal), error, `status ${status}`);
    }
  });

  test('16.64: an answer that is no JSON, no page, no token, or far too long is no answer', async () => {
    const saying = (body: string) => (_: unknown, response: ServerResponse) => void response.end(body);
    const bodies = [
      '',
      'not json',
      'null',
      '[]',
      '{}',
      '{"transactions":{}}',
      '{"transactions":[7]}',
      'x'.repeat(400_000),
    ];
    bodies.push(`{"transactions":[],"next_page_key":7}`);
    for (const body of bodies) {
      server.faults.push(...Array.from({ length: 3 }, () => saying(body)));
      await assert.rejects(listed(), ProviderDown, body.slice(0, 30));
      server.faults.length = 0;
    }
    for (const token of ['null', '{}', '{"token":""}', '{"token":"a b"}', '{"token":{}}']) {
      server.faults.push(saying(token));
      await assert.rejects(coinbase.createLaunch(request(), signal), ProviderDown, token);
    }
    const elsewhere = (_: unknown, response: ServerResponse) => {
      response.writeHead(302, { location: server.url }).end();
    };
    server.faults.push(elsewhere);
    await assert.rejects(coinbase.createLaunch(request(), signal), /status 302/);
  });

  test('16.64: a provider that hangs is given up, by the time-out and by the caller', async () => {
    const hanging = () => {};
    const halfway = (_: unknown, response: ServerResponse) => void response.write('{"transactions":');
    const impatient = opened(settings, 20);
    server.faults.push(hanging, halfway, hanging);
    await assert.rejects(impatient.listTransactions(REFERENCE, 'offramp', signal), ProviderDown);
    server.faults.push(hanging);
    const controller = new AbortController();
    const before = server.requests;
    const asked = coinbase.listTransactions(REFERENCE, 'offramp', controller.signal);
    const ended = assert.rejects(asked, ProviderDown);
    controller.abort();
    await ended;
    assert.ok(server.requests - before <= 1);
    // A failure while the caller gives up is not repeated.
    await assert.rejects(coinbase.listTransactions(REFERENCE, 'offramp', AbortSignal.abort()), ProviderDown);
  });

  const EVENT = { eventType: 'offramp.transaction.updated', transactionId: 'x', partnerUserRef: REFERENCE };
  const NOW_MS = 1_760_000_000_000;

  test('16.65: an event counts by either documented signature and by each secret', () => {
    for (const secret of SECRETS) {
      for (const only of ['v0', 'v1', undefined] as const) {
        const { headers, body } = coinbaseHook(secret, EVENT, NOW_MS, only);
        const event = coinbase.verifyWebhook(headers, body, NOW_MS);
        assert.equal(event?.partnerReference, REFERENCE);
        // A header that is not signed names no event.
        assert.equal(event.eventId === headers['x-event-id'], only !== 'v0');
        const again = coinbase.verifyWebhook({ ...headers, 'x-other': '1' }, body, NOW_MS + 299_000);
        assert.deepEqual(again, event);
      }
    }
    const { headers, body } = coinbaseHook('another', EVENT, NOW_MS);
    assert.equal(coinbase.verifyWebhook(headers, body, NOW_MS), null);
    const { WEBHOOK_SECRETS: _, ...none } = settings;
    const unsigned = coinbaseHook('', EVENT, NOW_MS);
    assert.equal(opened(none).verifyWebhook(unsigned.headers, unsigned.body, NOW_MS), null);
  });

  test('16.65: an event that is old, changed, or signed in another way is refused', () => {
    const { headers, body } = coinbaseHook(SECRETS[0], EVENT, NOW_MS);
    const signature = headers['x-hook0-signature'];
    const { headers: v0 } = coinbaseHook(SECRETS[0], EVENT, NOW_MS, 'v0');
    const check = (changed: Record<string, string>, bytes = body, nowMs = NOW_MS) =>
      coinbase.verifyWebhook({ ...headers, ...changed }, bytes, nowMs);
    assert.equal(check({}, body, NOW_MS + 301_000), null);
    assert.equal(check({}, body, NOW_MS - 301_000), null);
    assert.equal(check({}, Buffer.from(`${body} `)), null);
    assert.equal(check({ 'x-event-id': 'another' }), null);
    for (const wrong of [
      '',
      't=',
      signature.replace('t=', 't=9'),
      signature.replace('t=', 'x='),
      signature.replace(/v1=./, 'v1='),
      signature.replace(/v1=.*/, `v1=${'0'.repeat(64)}`),
      signature.replace('h=content-type x-event-id', 'h=content-type'),
      signature.replace('h=content-type', 'h=x-missing'),
      signature.replace(/,h=[^,]*/, ''),
      `${signature},t=${Math.floor(NOW_MS / 1000)}`,
      `${signature},${'x'.repeat(3000)}`,
      v0['x-hook0-signature'].replace(/v0=.*/, ''),
      `${v0['x-hook0-signature']},v1=${'0'.repeat(64)}`,
    ]) {
      assert.equal(check({ 'x-hook0-signature': wrong }), null, wrong.slice(0, 60));
    }
  });

  test('16.66: an event that names no session is accepted all the same', () => {
    const { partnerUserRef: _, ...nameless } = EVENT;
    for (const event of [
      nameless,
      { ...EVENT, partnerUserRef: 7 },
      { ...EVENT, partnerUserRef: 'x'.repeat(50) },
      'null',
      '[',
      '',
    ]) {
      const { headers, body } = coinbaseHook(SECRETS[0], event, NOW_MS);
      assert.equal(coinbase.verifyWebhook(headers, body, NOW_MS)?.partnerReference, null, JSON.stringify(event));
    }
    const bytes = Buffer.from([0x22, 0xff, 0x22]);
    assert.equal(coinbase.verifyWebhook({}, bytes, NOW_MS), null);
  });
});
