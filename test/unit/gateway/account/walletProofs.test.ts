/** Messages that wallets sign (RULES.md 15.10), written by the exchange and by another library. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashMessage } from 'viem';
import { createSiweMessage, parseSiweMessage } from 'viem/siwe';
import { parseMessage } from '../../../../gateway/account/signInMessage.ts';
import { WalletNonces } from '../../../../gateway/account/walletNonces.ts';
import { WalletProofs } from '../../../../gateway/account/walletProofs.ts';
import type { Refusal } from '../../../../gateway/base/refusal.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { makeWallet } from '../../../support/wallet.ts';

const START_MS = 1_790_000_000_000;
const OWN = 'https://exchange.test';
const PAGE = 'https://app.test:8443';
const CHAIN = 137;
const SIGN_IN = { account: 0, act: '', statement: 'Sign in to the exchange.' };

class Rig {
  readonly clock = new ManualClock(START_MS);
  readonly wallet = makeWallet();
  readonly address = this.wallet.address.toLowerCase();
  readonly proofs: WalletProofs;

  constructor(maxUsed = 100) {
    const [publicUrl, isOwnPage] = [() => OWN, (origin: string) => origin === PAGE];
    this.proofs = new WalletProofs({ chainId: () => CHAIN, publicUrl, isOwnPage, nonces: new WalletNonces(maxUsed) });
  }

  offer(origin = '', purpose = SIGN_IN) {
    return this.proofs.offer(this.address, origin, purpose, this.clock.nowMs());
  }

  /** 'good', or the rule or step that the signed text fails. */
  async check(message: string, purpose = SIGN_IN, signer = this.wallet): Promise<string> {
    const found = this.proofs.check(message, await signer.signMessage({ message }), purpose, this.clock.nowMs());
    if (typeof found === 'string') return found === this.address ? 'good' : found;
    return reasonOf(found);
  }
}

function reasonOf({ row, details }: Refusal): string {
  const { rule, step } = details as { rule?: string; step?: string };
  return rule ?? (step === 'nonce' ? row.message : step!);
}

test('15.10: the message is one of EIP-4361, as another library reads it', async () => {
  const rig = new Rig();
  const { message, nonce, expiresMs } = rig.offer(PAGE);
  assert.deepEqual(parseSiweMessage(message), {
    domain: 'app.test:8443',
    address: rig.wallet.address,
    statement: SIGN_IN.statement,
    uri: PAGE,
    version: '1',
    chainId: CHAIN,
    nonce,
    issuedAt: new Date(START_MS),
    expirationTime: new Date(expiresMs),
  });
  assert.equal(expiresMs - START_MS, 300_000);
  assert.equal(await rig.check(message), 'good');
});

test('15.10: a message that a page has written itself counts as the one that was offered', async () => {
  const rig = new Rig();
  for (const more of [{}, { statement: 'Hello.' }, { scheme: 'https' }, { notBefore: new Date(START_MS) }]) {
    const { nonce } = rig.offer(PAGE);
    const facts = { address: rig.wallet.address, chainId: CHAIN, domain: 'app.test:8443', uri: `${PAGE}/login`, nonce };
    const message = createSiweMessage({ ...facts, version: '1', issuedAt: new Date(START_MS), ...more });
    assert.equal(await rig.check(message), 'good', message);
  }
});

/** The case of its first letter is the other one. */
function swapped(address: string): string {
  const at = address.slice(2).search(/[a-f]/i) + 2;
  const letter = address[at]!;
  const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
  return address.slice(0, at) + other + address.slice(at + 1);
}

test('15.10: an address in small letters is good, because the signature proves the wallet', async () => {
  const rig = new Rig();
  const { message } = rig.offer(PAGE);
  const lowered = message.replace(rig.wallet.address, rig.address);
  assert.notEqual(lowered, message);
  assert.equal(await rig.check(lowered, SIGN_IN, makeWallet()), 'signature');
  assert.equal(await rig.check(lowered), 'good');
  assert.equal(await rig.check(lowered), 'nonce already used');
});

test('15.10: whatever a message says wrong is refused, and the right one is good after it', async () => {
  const rig = new Rig();
  const { message, nonce } = rig.offer();
  const stranger = makeWallet();
  const at = (ms: number): string => new Date(ms).toISOString();
  const cases: [from: string | RegExp, to: string, reason: string][] = [
    ['exchange.test wants', 'evil.test wants', 'domain'],
    ['URI: https://exchange.test', 'URI: https://evil.test', 'uri'],
    ['URI: https://exchange.test', 'URI: https://app.test:8443', 'domain'],
    ['URI: https://exchange.test', 'URI: http://exchange.test', 'uri'],
    ['URI: https://exchange.test', 'URI: https://exchange.test@evil.test', 'uri'],
    ['Version: 1', 'Version: 2', 'form'],
    ['Chain ID: 137', 'Chain ID: 1', 'chain_id'],
    ['Chain ID: 137', 'Chain ID: 0137', 'form'],
    [/Issued At: .*/, `Issued At: ${at(START_MS + 60_001)}`, 'issued_at'],
    [/Issued At: .*/, `Issued At: ${at(START_MS - 360_000)}`, 'issued_at'],
    [/Issued At: .*/, 'Issued At: yesterday', 'form'],
    [/Expiration Time: .*/, `Expiration Time: ${at(START_MS)}`, 'expiration_time'],
    [/(Expiration Time: .*)/, `$1\nNot Before: ${at(START_MS + 60_001)}`, 'not_before'],
    [/(Expiration Time: .*)/, '$1\nResources:\n- https://exchange.test/all', 'form'],
    [/$/, '\n', 'form'],
    [/\n/g, '\r\n', 'form'],
    [rig.wallet.address, swapped(rig.wallet.address), 'checksum'],
    [rig.wallet.address, rig.wallet.address.toUpperCase().replace('0X', '0x'), 'form'],
    [rig.wallet.address, stranger.address, 'invalid nonce'],
    [nonce, nonce.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')), 'invalid nonce'],
    [nonce, 'a'.repeat(64), 'invalid nonce'],
    [nonce, 'short', 'form'],
  ];
  for (const [from, to, reason] of cases) {
    const changed = message.replace(from, to);
    assert.notEqual(changed, message, to);
    assert.equal(await rig.check(changed), reason, `${from} -> ${to}`);
  }
  assert.equal(await rig.check(message, SIGN_IN, stranger), 'signature', 'signed by another wallet');
  const right = await rig.wallet.signMessage({ message });
  const tampered = message.replace('Sign in', 'Sign out');
  assert.equal(reasonOf(rig.proofs.check(tampered, right, SIGN_IN, START_MS) as Refusal), 'signature');
  for (const signature of [`${right.slice(0, -2)}1d`, `0x${'00'.repeat(65)}`, `0x${'ff'.repeat(65)}`]) {
    assert.equal(reasonOf(rig.proofs.check(message, signature, SIGN_IN, START_MS) as Refusal), 'signature', signature);
  }
  assert.equal(await rig.check(message), 'good', 'none of this used the nonce up');
  assert.equal(await rig.check(message), 'nonce already used');
});

test('15.10: a nonce is for one page, one account and five minutes', async () => {
  const rig = new Rig();
  const link = { account: 7, act: 'link', statement: 'Link this wallet.' };
  const { message } = rig.offer('', link);
  assert.equal(await rig.check(message), 'invalid nonce', 'offered to link, used to sign in');
  assert.equal(await rig.check(message, { ...link, account: 8 }), 'invalid nonce');
  assert.equal(await rig.check(message, { ...link, act: 'confirm' }), 'invalid nonce');
  const reworded = message.replace('Link this wallet.', 'Win a prize.');
  assert.equal(await rig.check(reworded, link), 'statement', 'the person was not shown the change');
  assert.equal(await rig.check(message, link), 'good');
  const other = rig.offer(PAGE).message.replaceAll('app.test:8443', 'exchange.test');
  assert.equal(await rig.check(other), 'invalid nonce');
  assert.match(rig.offer('https://evil.test').message, /^exchange\.test wants/);
  const late = rig.offer().message;
  rig.clock.advance(299_999);
  assert.equal(await rig.check(late), 'good');
  const tooLate = rig.offer().message;
  rig.clock.advance(300_000);
  assert.equal(await rig.check(tooLate.replace(/\nExpiration.*/, '')), 'invalid nonce');
});

test('15.10: where too many nonces were used, all that are given out are void, and none is good twice', async () => {
  const rig = new Rig(2);
  const offers = [rig.offer(), rig.offer(), rig.offer(), rig.offer()].map(({ message }) => message);
  for (const message of offers.slice(0, 3)) assert.equal(await rig.check(message), 'good');
  for (const message of offers) assert.equal(await rig.check(message), 'invalid nonce');
  assert.equal(await rig.check(rig.offer().message), 'good');
});

test('15.10: texts that are no messages are read as none', () => {
  for (const text of [
    '',
    'a',
    '\n'.repeat(100),
    'x'.repeat(5000),
    ' wants you to sign in with your Ethereum account:',
  ]) {
    assert.equal(parseMessage(text), null);
  }
});

test('15.40: with a chain a wallet that is a contract is asked if it has signed, once for each message', async () => {
  const asked: string[] = [];
  let answer: () => Promise<boolean> = async () => true;
  const nonces = new WalletNonces(10);
  const page = { publicUrl: () => OWN, isOwnPage: () => false };
  const isSignedByContract = (address: string, digest: string, signature: string): Promise<boolean> => {
    asked.push(`${address} ${digest} ${signature}`);
    return answer();
  };
  const proofs = new WalletProofs({ chainId: () => CHAIN, ...page, nonces, isSignedByContract });
  const contract = `0x${'12'.repeat(20)}`;
  const { message } = proofs.offer(contract, '', SIGN_IN, START_MS);
  const check = () => proofs.checkAnyWallet(message, '0xab', SIGN_IN, START_MS);
  answer = async () => false;
  assert.equal(reasonOf((await check()) as Refusal), 'signature');
  answer = () => Promise.reject(new Error('no answer'));
  assert.equal(((await check()) as Refusal).row.code, 'PROVIDER_UNAVAILABLE');
  answer = async () => true;
  const both = await Promise.all([check(), check()]);
  assert.deepEqual(
    [both[0], reasonOf(both[1] as Refusal)],
    [contract, ERRORS.NONCE_USED.message],
    'used while the chain was asked',
  );
  assert.equal(asked[0], `${contract} ${hashMessage(message)} 0xab`);
  const wallet = makeWallet();
  const own = proofs.offer(wallet.address.toLowerCase(), '', SIGN_IN, START_MS);
  const signature = await wallet.signMessage({ message: own.message });
  const before = asked.length;
  assert.equal(await proofs.checkAnyWallet(own.message, signature, SIGN_IN, START_MS), wallet.address.toLowerCase());
  assert.equal(asked.length, before, 'a key is not asked for on the chain');
});
