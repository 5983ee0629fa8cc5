/**
 * The floors under nonces that each shard has said it has (RULES.md 5.12), of a wallet as the highest of them. Where a
 * shard has one that control.db lacks, as after a repair, main gives it to the others (account/restrictions.ts).
 * Owner: the gateway thread.
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
