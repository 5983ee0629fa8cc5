/** Tokens and wallets of recent orders are kept as text and bytes: two that share a place must not be mixed up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenBytes } from '../../../../gateway/trading/tokenTexts.ts';
import { WalletTexts } from '../../../../gateway/trading/walletTexts.ts';
import { UINT256_BYTES, uint256ToDecimal } from '../../../../shared/base/hex.ts';
import { COMMAND } from '../../../../shared/wire/commands.ts';

test('the bytes of a token are its own, also when another one has just had its place', () => {
  const tokens = new TokenBytes();
  const out = new Uint8Array(40);
  // All end in the same digits, which decide the place; the same texts come again after others.
  const texts = ['70001234', '1234', '80001234', `${10n ** 70n + 1234n}`, '1234', '70001234', '0', '7', '0'];
  for (const text of texts) {
    assert.ok(tokens.write(text, out, 8));
    assert.equal(uint256ToDecimal(out.subarray(8, 8 + UINT256_BYTES)), text);
  }
});

test('a text that is no token is refused each time, and the token at its place stays as it was', () => {
  const tokens = new TokenBytes();
  const out = new Uint8Array(UINT256_BYTES);
  const tooLarge = `${2n ** 256n + 4n}`;
  for (const wrong of [tooLarge, '', '-1', `x${'0'.repeat(3)}`]) {
    const sameDigits = `9${wrong.slice(-4)}`;
    const isToken = tokens.write(sameDigits, out, 0);
    assert.ok(!tokens.write(wrong, out, 0) && !tokens.write(wrong, out, 0), wrong);
    assert.equal(tokens.write(sameDigits, out, 0), isToken);
    if (isToken) assert.equal(uint256ToDecimal(out), sameDigits);
  }
});

test('the grant is that of the wallets in the record, whatever the record before had', () => {
  const wallets = new WalletTexts();
  const words = new Uint32Array(COMMAND.PLACE.WORDS);
  const bytes = new Uint8Array(words.buffer);
  const asked: string[] = [];
  const accounts = { grantOf: (account: number, maker: string, signer: string) => asked.push(maker, signer) + account };
  const ask = (maker: number, signer: number): void => {
    // Places depend on one word of each address; the first bytes are not in it.
    bytes[COMMAND.PLACE.makerAddress * 4] = maker;
    bytes[COMMAND.PLACE.signerAddress * 4] = signer;
    wallets.grantOf(accounts, 0, words, bytes, 0);
  };
  for (const [maker, signer] of [
    [0, 0],
    [1, 1],
    [1, 2],
    [0xab, 1],
    [0, 0],
  ]) {
    ask(maker!, signer!);
    const hex = (byte: number): string => `0x${byte.toString(16).padStart(2, '0')}${'00'.repeat(19)}`;
    assert.deepEqual(asked.splice(0), [hex(maker!), hex(signer!)]);
  }
});
