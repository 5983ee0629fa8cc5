/** The class of CCXT without an exchange: each fixture's request is sent, and its answer becomes the same structure. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCcxt, NO_CCXT } from '../support/ccxtPeer.ts';
import type { Json } from '../support/server.ts';
import { type Fixture, type Fixtures, readFixtures, readMarkets, without } from './ccxtStatic.ts';

/** As CCXT's own runner makes one, with what the file says of its own. */
async function offline({ privateKey, options }: Fixtures): Promise<Json> {
  const { pmx } = await loadCcxt();
  const credentials = { apiKey: 'key', secret: 'secretsecret', password: 'password', privateKey };
  const exchange = new pmx({ ...credentials, enableRateLimit: false });
  exchange.options = exchange.deepExtend(exchange.options, options);
  exchange.setMarkets(Object.values(readMarkets()));
  return exchange;
}

const inputOf = ({ input }: Fixture): unknown[] => input.map((value) => value ?? undefined);

function* eachOf({ methods }: Fixtures): Iterable<Fixture> {
  for (const rows of Object.values(methods)) yield* rows;
}

/** Address and query apart, so that members of a query may be skipped as well. */
function partsOf(url: string): [string, Json] {
  const [address, query = ''] = url.split('?');
  return [address!, Object.fromEntries(new URLSearchParams(query))];
}

test('each call sends the request of its fixture', { skip: NO_CCXT }, async () => {
  const { ccxt } = await loadCcxt();
  const fixtures = readFixtures('request');
  let count = 0;
  for (const fixture of eachOf(fixtures)) {
    const exchange = await offline(fixtures);
    let seen: { url: string; body: string | undefined } | undefined;
    exchange.fetch = async (url: string, _method: string, _headers: Json, body: string | undefined) => {
      seen = { url, body };
      throw new ccxt.NetworkError('nothing is sent');
    };
    await assert.rejects(exchange[fixture.method](...inputOf(fixture)), ccxt.NetworkError, fixture.description);
    const parts = ([address, query]: [string, Json]) => [address, without(query, fixtures.skipKeys)];
    assert.deepEqual(parts(partsOf(seen!.url)), parts(partsOf(fixture.url!)), fixture.description);
    const body = (text: string | undefined) => without(JSON.parse(text ?? 'null'), fixtures.skipKeys);
    assert.deepEqual(body(seen!.body), body(fixture.output), fixture.description);
    count++;
  }
  assert.ok(count >= 30, `${count} requests`);
});

test('each answer of a fixture becomes its structure', { skip: NO_CCXT }, async () => {
  const fixtures = readFixtures('response');
  const signing = readFixtures('request');
  let count = 0;
  for (const fixture of eachOf(fixtures)) {
    const exchange = await offline({ ...fixtures, privateKey: signing.privateKey! });
    exchange.fetch = async () => structuredClone(fixture.httpResponse);
    const result = await exchange[fixture.method](...inputOf(fixture));
    const shown = (value: Json) => without(value, fixtures.skipKeys);
    assert.deepEqual(shown(result), shown(fixture.parsedResponse), fixture.description);
    count++;
  }
  assert.ok(count >= 30, `${count} answers`);
});
