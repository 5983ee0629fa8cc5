/** The table of providers and their settings (RULES.md 16.2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, parseConfig } from '../../../../gateway/base/config.ts';
import { openProviders } from '../../../../gateway/fiat/providers.ts';
import { ProviderDown } from '../../../../gateway/http/providerCalls.ts';
import { FakeFiatProvider, providerRow } from '../../../support/fiatProvider.ts';

test('16.2: a provider gets its own settings, and the first that is named is preferred', () => {
  const env = { FIAT_PROVIDERS: 'second, first', FIAT_FIRST_URL: 'a', FIAT_SECOND_API_KEY: 'b', FIAT_OTHER_X: 'c' };
  const { fiat } = parseConfig(env, 2);
  const seen: unknown[] = [];
  const opened = (name: string) => (settings: object) => {
    seen.push([name, settings]);
    return new FakeFiatProvider(name);
  };
  const providers = openProviders(fiat, { first: opened('first'), second: opened('second') });
  assert.deepEqual([...providers.keys()], ['second', 'first']);
  assert.deepEqual(seen, [
    ['second', { API_KEY: 'b' }],
    ['first', { URL: 'a' }],
  ]);
});

test('16.2: settings that name no provider, or refuse one, stop the start', () => {
  for (const names of ['a,a', 'A', 'a,,b', '../a']) {
    assert.throws(() => parseConfig({ FIAT_PROVIDERS: names }, 2), /^ConfigError: FIAT_PROVIDERS: expected names/);
  }
  const { fiat } = parseConfig({ FIAT_PROVIDERS: 'constructor' }, 2);
  assert.throws(() => openProviders(fiat), ConfigError);
  const refusing = { constructor: () => 'URL: expected a URL' };
  assert.throws(() => openProviders(fiat, refusing), /FIAT_CONSTRUCTOR_URL: expected a URL/);
});

test('16.1: a provider that does not answer ends with its signal', async () => {
  const provider = new FakeFiatProvider();
  provider.set('reference', providerRow());
  const [row] = await provider.listTransactions('reference', 'offramp', AbortSignal.timeout(1000));
  assert.equal(row.transactionId, 'tx-1');
  provider.mode = 'hanging';
  const caller = new AbortController();
  const asked = provider.listTransactions('reference', 'offramp', caller.signal);
  caller.abort();
  await assert.rejects(asked, ProviderDown);
});
