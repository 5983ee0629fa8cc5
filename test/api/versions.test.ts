/**
 * Versions that meet: the client of each release on today's exchange, and today's client on the answers of each
 * release's exchange (test/vectors/client, made by test/packages/release.ts). Both understand the same.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { generatePrivateKey } from 'viem/accounts';
import { ExchangeClient } from '../../shared/client/index.ts';
import { playing, type Recording } from '../packages/recorded.ts';
import { TOUR_SCOPES, takeTour } from '../packages/tour.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const RELEASES = fileURLToPath(new URL('../vectors/client', import.meta.url));
const releases = readdirSync(RELEASES).flatMap((name) => (name.endsWith('.json') ? [basename(name, '.json')] : []));
const keptOf = (release: string): Recording & { privateKey: string; understood: object } =>
  JSON.parse(readFileSync(join(RELEASES, `${release}.json`), 'utf8'));

const server = await sharedServer();
const CREDENTIALS = { keyId: 'any', secret: 'c2VjcmV0', passphrase: 'any' };

test('there is a release to compare with', () => assert.ok(releases.length > 0));

for (const release of releases) {
  test(`the client of ${release} trades on the exchange of today`, async () => {
    const path = join(temporaryDirectory(), 'client.mjs');
    writeFileSync(path, gunzipSync(readFileSync(join(RELEASES, `${release}.mjs.gz`))));
    const released: { ExchangeClient: typeof ExchangeClient } = await import(path);
    const market = await makeMarket(server);
    const wallet = generatePrivateKey();
    const { credentials } = await makeTrader(server, { privateKey: wallet, scopes: TOUR_SCOPES });
    const posted: unknown[] = [];
    const counted: typeof fetch = (input, init) => {
      if (init?.method === 'POST') posted.push(input);
      return fetch(input, init);
    };
    const client = new released.ExchangeClient({ baseUrl: server.baseUrl, credentials, wallet, fetch: counted });
    assert.deepEqual(await takeTour(client, market.id), keptOf(release).understood);

    // As records of svc.bin.1, whose layouts are its own (ENTRY-1).
    const onSocket = await client.overSocket({ form: 'binary' });
    posted.length = 0;
    const intent = {
      marketId: market.id,
      outcomeIndex: 0,
      side: 'BUY',
      price: '0.30',
      size: '10',
      clientOrderId: 'a',
    } as const;
    const { hash, answer } = await onSocket.place(intent);
    assert.equal(answer?.status, 'open');
    await onSocket.cancelOrder(hash);
    onSocket.close();
    assert.deepEqual(posted, [], 'nothing went over HTTP');
  });

  test(`the client of today understands the exchange of ${release}`, async () => {
    const { privateKey, understood, ...recording } = keptOf(release);
    const { fetch, openSocket } = playing(recording);
    const options = { baseUrl: 'http://exchange', credentials: CREDENTIALS, wallet: privateKey, fetch };
    const client = new ExchangeClient({ ...options, retry: false });
    assert.deepEqual(await takeTour(client, recording.marketId, openSocket), understood);
  });
}
