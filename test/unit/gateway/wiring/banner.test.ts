import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { banner, startingLine } from '../../../../gateway/wiring/banner.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const TOKEN = 'a-token-that-nobody-else-may-see';
const ACCOUNT = {
  name: 'alice',
  user_id: 'user',
  key_id: 'key_1',
  secret: 'the-secret-of-alice',
  passphrase: 'the-passphrase-of-alice',
  private_key: '0x01',
  wallet_address: '0x02',
};
const MAKER = { ...ACCOUNT, name: 'maker', secret: 'the-secret-of-the-maker' };
const FLOW = { maker: 'maker', deeper: ['erin'], takers: [], market_ids: ['market-2'] };
const DEEPER = { ...MAKER, name: 'erin', secret: 'the-secret-of-erin' };
const ACCOUNTS = [ACCOUNT, MAKER, DEEPER];
const DEMO = { base_url: 'http://127.0.0.1:1', market_id: 'market-1', accounts: ACCOUNTS, flow: FLOW };
const SECRETS = [TOKEN, ACCOUNT.secret, ACCOUNT.passphrase];

function printed(dataDir: string, isTerminal: boolean, isNew = true): string {
  const operationsUrl = `${DEMO.base_url}/ops`;
  const options = { baseUrl: DEMO.base_url, operationsUrl, dataDir, flows: true, hasRamp: true, isTerminal };
  return banner({ ...options, newToken: isNew ? TOKEN : null, opened: { demo: DEMO, path: 'demo.json', isNew } }).join(
    '\n',
  );
}

describe('what a start prints', () => {
  test('a terminal sees the secrets that the start has made', () => {
    const dataDir = temporaryDirectory();
    const text = printed(dataDir, true);
    for (const secret of SECRETS) assert.ok(text.includes(secret), secret);
    assert.ok(text.includes('http://127.0.0.1:1/ops   sign in with the admin token'));
    assert.ok(!existsSync(join(dataDir, 'admin.token')), 'and nothing is left in a file');
    assert.ok(text.includes('npx pmx fiat in 25'));
    for (const { secret } of [MAKER, DEEPER]) {
      assert.ok(!text.includes(secret), 'an account of the flow is of no use to a visitor');
    }
  });

  test('anything else reads where they are, in files of the owner alone', () => {
    const dataDir = temporaryDirectory();
    const text = printed(dataDir, false);
    for (const secret of SECRETS) assert.ok(!text.includes(secret), secret);
    const path = join(dataDir, 'admin.token');
    assert.ok(text.includes(path) && text.includes('demo.json'));
    assert.equal(readFileSync(path, 'utf8'), `${TOKEN}\n`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  test('a later start shows no secret to anybody', () => {
    for (const isTerminal of [true, false]) {
      const text = printed(temporaryDirectory(), isTerminal, false);
      assert.ok(text.includes('npx pmx place'));
      for (const secret of SECRETS) assert.ok(!text.includes(secret), secret);
    }
  });
});

test('who starts the demo at a terminal sees at once that it takes a while, and no other output has that line', () => {
  assert.match(startingLine(true, true)!, /^\n {2}Starting: .* up to a minute\.\n$/);
  for (const [isDemo, isTerminal] of [
    [true, false],
    [false, true],
  ] as const) {
    assert.equal(startingLine(isDemo, isTerminal), null);
  }
});
