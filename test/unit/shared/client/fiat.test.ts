import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FiatClient } from '../../../../shared/client/fiat.ts';

test('every method of cashing in and out sends its route, and may be repeated without harm', async () => {
  const sent: unknown[][] = [];
  const repeats = new Set<unknown>();
  const keys: string[] = [];
  const client = new FiatClient({
    send: async <T>(method: string, path: string, payload?: unknown, extras: Parameters<Send>[3] = {}): Promise<T> => {
      sent.push([method, path, payload]);
      if (method === 'POST') repeats.add(extras.repeat);
      const key = (extras.headers as Record<string, string> | undefined)?.['Idempotency-Key'];
      if (key !== undefined) keys.push(key);
      return path as T;
    },
  });
  await client.list({ kind: 'offramp', limit: 5 });
  await client.session('a/b');
  await client.createOnramp({ amount: '10', payment_method: 'CARD' });
  await client.createOfframp();
  await client.completeOnramp('s');
  await client.launchToken('onramp', 's');
  await client.cancel('s');
  await client.transaction('s');
  await client.transfer('s');
  await client.authorize('s', 'i', '0x12');
  await client.submit('s', 'i');
  const offramp = '/v1/user/fiat/offramp/sessions';
  assert.deepEqual(sent, [
    ['GET', '/v1/user/fiat/sessions?kind=offramp&limit=5', undefined],
    ['GET', '/v1/user/fiat/sessions/a%2Fb', undefined],
    ['POST', '/v1/user/fiat/onramp/sessions', { amount: '10', payment_method: 'CARD' }],
    ['POST', offramp, {}],
    ['POST', '/v1/user/fiat/onramp/sessions/s/complete', {}],
    ['POST', '/v1/user/fiat/onramp/sessions/s/launch-token', {}],
    ['POST', `${offramp}/s/cancel`, {}],
    ['GET', `${offramp}/s/transaction`, undefined],
    ['GET', `${offramp}/s/transfer`, undefined],
    ['POST', `${offramp}/s/transfer/authorization`, { intent_id: 'i', signature: '0x12' }],
    ['POST', `${offramp}/s/transfer/submit`, { intent_id: 'i' }],
  ]);
  assert.deepEqual([...repeats], ['harmless']);
  assert.equal(new Set(keys).size, 2, 'each creation has a key of its own');
});

type Send = ConstructorParameters<typeof FiatClient>[0]['send'];
