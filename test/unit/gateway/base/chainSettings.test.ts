/** The settings of a chain (gateway/base/chainSettings.ts, chainKeys.ts). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openChainKeys } from '../../../../gateway/base/chainKeys.ts';
import { ConfigError, type Environment, parseConfig } from '../../../../gateway/base/config.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { keystoreOf } from '../../../support/keystore.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;
const keyOf = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`;
const SETTINGS: Environment = {
  RPC_URL: 'https://user:secret@node.example/v2/secret',
  EXCHANGE_ADDRESS: ADDRESS,
  MARKET_FACTORY_ADDRESS: ADDRESS,
  USDC_ADDRESS: ADDRESS,
  CTF_ADDRESS: ADDRESS,
  RESOLUTIONS_ADDRESS: ADDRESS,
  OPERATOR_KEY: keyOf(1),
  RESOLVER_KEY: keyOf(4),
  DEPLOYER_KEY: keyOf(2),
  PERMIT_KEY: keyOf(3),
};
const parse = (changes: Environment = {}) => parseConfig({ ...SETTINGS, ...changes }, 2);

/** One line that names the setting and shows nothing of its value. */
function refused(read: () => unknown, message: RegExp): void {
  assert.throws(read, (error: Error) => {
    assert.ok(error instanceof ConfigError);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /\n|secret@|horse|0{20}/);
    return true;
  });
}

test('without RPC_URL there is no chain, and its other settings have no meaning', () => {
  assert.equal(parse({ RPC_URL: '' }).chain, null);
  assert.equal(parse({ RPC_URL: '', OPERATOR_KEY: 'nonsense' }).chain, null);
});

test('a chain has its limits, and no demo unless it is asked for', () => {
  const { chain, demo } = parse();
  assert.ok(chain !== null);
  assert.equal(demo, false);
  assert.equal(chain.mostFeeWei, 1_000_000_000_000n);
  assert.equal(chain.lowBalanceWei, 5_000_000_000_000_000_000n);
  assert.deepEqual([chain.mostHeadAgeMs, chain.mostWaitMs], [30_000, 60_000]);
  assert.deepEqual([chain.leastMovementMicro, chain.mostMovementsADay, chain.paymentsAddress], [1_000_000, 20, null]);
  assert.deepEqual([chain.mostPaidMicro, chain.mostPaidToAllMicro], [100_000_000_000, 1_000_000_000_000]);
  assert.equal(parse({ PAYER_KEY: keyOf(5), PAYMENTS_ADDRESS: ADDRESS }).chain!.paymentsAddress, ADDRESS);
  const limits = {
    MOST_FEE_GWEI: '7',
    LOW_BALANCE_GWEI: '0',
    MOST_HEAD_AGE_MS: '1000',
    MOST_SETTLEMENT_WAIT_MS: '2000',
    MOST_PAID_AN_HOUR_MICRO: '5',
    MOST_PAID_TO_ALL_AN_HOUR_MICRO: '50',
  };
  const other = parse(limits).chain!;
  assert.deepEqual([other.mostFeeWei, other.lowBalanceWei], [7_000_000_000n, 0n]);
  assert.deepEqual([other.mostHeadAgeMs, other.mostWaitMs], [1000, 2000]);
  assert.deepEqual([other.mostPaidMicro, other.mostPaidToAllMicro], [5, 50]);
});

test('a missing setting, or one that contradicts a chain, stops the start with one line', () => {
  const cases: [Environment, RegExp][] = [
    [{ RPC_URL: 'ws://secret@node.example' }, /^RPC_URL: expected a URL that begins with http:\/\/ or https:\/\/$/],
    [{ RPC_URL: 'no address' }, /^RPC_URL: expected a URL$/],
    [{ RPC_URL: 'http://a.example,' }, /^RPC_URL: expected a URL$/],
    [{ RPC_URL: 'http://a.example,ws://b.example' }, /^RPC_URL: expected a URL that begins with/],
    [{ RPC_URL: 'http://a.example, http://A.example/' }, /^RPC_URL: it names an address twice$/],
    [{ OPERATOR_SIGNER: 'http://kms.example' }, /^OPERATOR_KEY and OPERATOR_SIGNER: set one of them$/],
    [{ OPERATOR_KEY: '', OPERATOR_SIGNER: 'kms' }, /^OPERATOR_SIGNER: expected a URL$/],
    [{ OPERATOR_KEY: '', OPERATOR_SIGNER: 'ftp://kms' }, /^OPERATOR_SIGNER: expected a URL that begins with/],
    [{ OPERATOR_KEY: '', OPERATOR_SIGNER: 'http://kms.example' }, /^OPERATOR_SIGNER_ADDRESS: expected 0x and 40 hex/],
    [{ EXCHANGE_ADDRESS: '' }, /^EXCHANGE_ADDRESS: needed with RPC_URL/],
    [{ RESOLUTIONS_ADDRESS: '' }, /^RESOLUTIONS_ADDRESS: needed with RPC_URL, because decisions wait there/],
    [{ MARKET_FACTORY_ADDRESS: '' }, /^MARKET_FACTORY_ADDRESS: needed with RPC_URL/],
    [{ OPERATOR_KEY: '' }, /^OPERATOR_KEY, OPERATOR_KEYSTORE or OPERATOR_SIGNER: needed with RPC_URL$/],
    [{ RESOLVER_KEY: '' }, /^RESOLVER_KEY, RESOLVER_KEYSTORE or RESOLVER_SIGNER: needed/],
    [{ DEPLOYER_KEY: '' }, /^DEPLOYER_KEY, DEPLOYER_KEYSTORE or DEPLOYER_SIGNER: needed/],
    [{ PERMIT_KEY: '' }, /^PERMIT_KEY, PERMIT_KEYSTORE or PERMIT_SIGNER: needed/],
    [
      { FIAT_PROVIDERS: 'coinbase' },
      /^RELAYER_KEY, RELAYER_KEYSTORE or RELAYER_SIGNER: needed where RPC_URL and FIAT_PROVIDERS/,
    ],
    [{ OPERATOR_KEY: keyOf(0) }, /^OPERATOR_KEY: expected 0x and 64 hex digits of a secret key$/],
    [{ OPERATOR_KEY: `0x${'f'.repeat(64)}` }, /^OPERATOR_KEY: expected/],
    [{ OPERATOR_KEY: keyOf(1).slice(2) }, /^OPERATOR_KEY: expected/],
    [{ PAYER_KEY: keyOf(5) }, /^PAYMENTS_ADDRESS and PAYER_KEY, PAYER_KEYSTORE or PAYER_SIGNER: set both or neither$/],
    [{ PAYMENTS_ADDRESS: ADDRESS }, /^PAYMENTS_ADDRESS and PAYER_KEY/],
    [{ OPERATOR_KEYSTORE: 'file' }, /^OPERATOR_KEY and OPERATOR_KEYSTORE: set one of them$/],
    [
      { PERMIT_KEY: '', PERMIT_KEYSTORE: 'f' },
      /^PERMIT_KEYSTORE and PERMIT_KEYSTORE_PASSWORD_FILE: set both or neither$/,
    ],
    [{ COLLATERAL_CHECK: 'off' }, /^COLLATERAL_CHECK: off makes trades that cannot settle/],
    [{ DEMO: 'on' }, /^DEMO: on gives play money/],
    [{ MOST_FEE_GWEI: '0' }, /^MOST_FEE_GWEI: expected an integer/],
  ];
  for (const [changes, message] of cases) refused(() => parse(changes), message);
});

test('several nodes and a signer of a key are taken as they are, and its key is of one job alone', () => {
  const { chain } = parse({ RPC_URL: 'http://a.example , https://b.example/x' });
  assert.equal(chain!.rpcUrl, 'http://a.example,https://b.example/x');
  const at = { OPERATOR_KEY: '', OPERATOR_SIGNER: 'unix:/run/signer.sock?key=one', OPERATOR_SIGNER_ADDRESS: ADDRESS };
  const signer = { url: at.OPERATOR_SIGNER, address: ADDRESS };
  assert.deepEqual(openChainKeys(parse(at).chain!).OPERATOR, signer);
  const twice = { ...at, DEPLOYER_KEY: '', DEPLOYER_SIGNER: 'http://kms.example', DEPLOYER_SIGNER_ADDRESS: ADDRESS };
  refused(() => openChainKeys(parse(twice).chain!), /^OPERATOR_KEY and DEPLOYER_KEY: each job needs a key of its own$/);
});

test('keys are given as they are or in keystores, and each job has one of its own', () => {
  const directory = temporaryDirectory();
  const file = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  const stored = (number: number): Environment => ({
    OPERATOR_KEY: '',
    OPERATOR_KEYSTORE: file('keystore.json', keystoreOf(keyOf(number), 'correct horse')),
    OPERATOR_KEYSTORE_PASSWORD_FILE: file('password', 'correct horse\n'),
  });
  const open = (changes: Environment) => openChainKeys(parse(changes).chain!);
  const none = { PAYER: null, RELAYER: null };
  const keys = { OPERATOR: keyOf(9), RESOLVER: keyOf(4), DEPLOYER: keyOf(2), PERMIT: keyOf(3), ...none };
  assert.deepEqual(open(stored(9)), keys);
  const wrong = file('wrong', 'battery staple');
  refused(
    () => open({ ...stored(9), OPERATOR_KEYSTORE_PASSWORD_FILE: wrong }),
    /^OPERATOR_KEYSTORE: the keystore cannot/,
  );
  const nowhere = join(directory, 'nowhere');
  refused(() => open({ ...stored(9), OPERATOR_KEYSTORE: nowhere }), /^OPERATOR_KEYSTORE: the file .* \(ENOENT\)$/);
  refused(() => open(stored(0)), /^OPERATOR_KEYSTORE: the keystore has no secret key/);
  refused(() => open(stored(2)), /^OPERATOR_KEY and DEPLOYER_KEY: each job needs a key of its own$/);
  refused(() => open({ RELAYER_KEY: keyOf(3) }), /^RELAYER_KEY and PERMIT_KEY: each/);
  refused(() => open({ OPERATOR_KEY: keyOf(4) }), /^OPERATOR_KEY and RESOLVER_KEY: each job needs a key of its own$/);
});
