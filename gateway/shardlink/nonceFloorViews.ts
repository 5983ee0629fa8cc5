/**
 * The nonce floors that each shard has reported (RULES.md 5.12); a wallet's floor is the highest of them. If a shard
 * has a floor that control.db lacks, for example after a repair, main passes it to the others
 * (account/restrictions.ts). Owner: the gateway thread.
 */
import { ADDRESS_BYTES, toHex } from '../../shared/base/hex.ts';
import { EVENT } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';

export class NonceFloorViews {
  readonly #floors = new Map<string, number>();

  apply(words: Uint32Array, word: number): void {
    const at = words.byteOffset + (word + EVENT.NONCE_FLOOR.wallet) * 4;
    const wallet = toHex(new Uint8Array(words.buffer, at, ADDRESS_BYTES));
    const floor = readSafe(words, word + EVENT.NONCE_FLOOR.floor);
    if (floor > (this.#floors.get(wallet) ?? 0)) this.#floors.set(wallet, floor);
  }

  all(): Iterable<[wallet: string, floor: number]> {
    return this.#floors.entries();
  }
}
