/**
 * Converts the address bytes of records to the texts by which accounts know them, and caches them: the same few wallets
 * sign order after order, and making the texts takes longer than finding their grant. The text of an address never
 * changes, so nothing here can be stale; a pair that another one has displaced is converted again.
 */
import { ADDRESS_BYTES, toHex } from '../../shared/base/hex.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import type { Accounts } from '../account/accounts.ts';

const PLACES = 4096;
const { makerAddress: MAKER, signerAddress: SIGNER } = COMMAND.PLACE;
/** Maker and signer follow each other. */
const PAIR_WORDS = (2 * ADDRESS_BYTES) / 4;

export class WalletTexts {
  readonly #words = new Uint32Array(PLACES * PAIR_WORDS);
  readonly #makers: string[] = new Array(PLACES).fill(`0x${'0'.repeat(2 * ADDRESS_BYTES)}`);
  readonly #signers = [...this.#makers];

  /**
   * Returns the grant under which an order of this account is signed.
   * @param at the word at which its PLACE record starts.
   */
  grantOf(
    accounts: Pick<Accounts, 'grantOf'>,
    account: number,
    words: Uint32Array,
    bytes: Uint8Array,
    at: number,
  ): number {
    const place = this.#placeOf(words, bytes, at);
    return accounts.grantOf(account, this.#makers[place], this.#signers[place]);
  }

  #placeOf(words: Uint32Array, bytes: Uint8Array, at: number): number {
    const first = at + MAKER;
    const mixed = words[first + 1] ^ Math.imul(words[at + SIGNER + 1], 5);
    const place = Math.imul(mixed, 0x9e37_79b1) >>> 20;
    const kept = place * PAIR_WORDS;
    let differences = 0;
    for (let i = 0; i < PAIR_WORDS; i++) differences |= this.#words[kept + i] ^ words[first + i];
    if (differences === 0) return place;
    for (let i = 0; i < PAIR_WORDS; i++) this.#words[kept + i] = words[first + i];
    this.#makers[place] = toHex(bytes, first * 4, ADDRESS_BYTES);
    this.#signers[place] = toHex(bytes, (at + SIGNER) * 4, ADDRESS_BYTES);
    return place;
  }
}
