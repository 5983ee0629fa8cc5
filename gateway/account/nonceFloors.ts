/**
 * The floor under the nonces of each wallet's orders (RULES.md 5.12). Shards refuse orders below it; this store holds
 * the floors that the shards must have. Owner: the gateway thread. Addresses are 0x and 40 lowercase hex digits.
 *
 * Invariants:
 *   WALLETFLOORS-1  A floor never falls, and remains when its wallet is unlinked.
 *   WALLETFLOORS-2  A floor is durable before its request is answered. Until every shard has it, it stays in the list
 *                   of the uncarried, across restarts.
 */
import { assert } from '../../shared/base/assert.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';

type WalletFloor = { readonly wallet: string; readonly floor: number };
type FloorRow = WalletFloor & { readonly is_carried: number };

export class NonceFloors {
  readonly #changes: Changes;
  readonly #floors = new Map<string, number>();
  readonly #uncarried = new Map<string, number>();
  readonly #write;
  readonly #setCarried;
  readonly #select;

  constructor(database: ControlDatabase, changes = SYNCED_AT_ONCE) {
    this.#changes = changes;
    this.#write = database.prepare<WalletFloor>(
      `INSERT INTO nonce_floors (wallet, floor, is_carried) VALUES ($wallet, $floor, 0)
       ON CONFLICT (wallet) DO UPDATE SET floor = $floor, is_carried = 0`,
    );
    this.#setCarried = database.prepare<[string, number]>(
      'UPDATE nonce_floors SET is_carried = 1 WHERE wallet = ? AND floor = ?',
    );
    this.#select = database.prepare<[string], FloorRow>('SELECT * FROM nonce_floors WHERE wallet = ?');
    for (const row of database.prepare<[], FloorRow>('SELECT * FROM nonce_floors').iterate()) this.#load(row);
  }

  /** Reads the rows of these wallets again. */
  reload(changed: TakenRows): void {
    for (const wallet of changed.textsOf('nonce_floors')) {
      this.#floors.delete(wallet);
      this.#uncarried.delete(wallet);
      const row = this.#select.get(wallet);
      if (row !== undefined) this.#load(row);
    }
  }

  of(wallet: string): number {
    return this.#floors.get(wallet) ?? 0;
  }

  /** Every shard has the floor. */
  isCarried(wallet: string): boolean {
    return !this.#uncarried.has(wallet);
  }

  uncarried(): WalletFloor[] {
    return [...this.#uncarried].map(([wallet, floor]) => ({ wallet, floor }));
  }

  raise(wallet: string, floor: number): void {
    assert(floor > this.of(wallet), 'WALLETFLOORS-1: a floor never sinks');
    this.#changes.write(() => this.#write.run({ wallet, floor }));
    this.#load({ wallet, floor, is_carried: 0 });
  }

  /** Every shard has this floor, or a higher floor is under way. */
  carried(wallet: string, floor: number): void {
    if (this.of(wallet) !== floor) return;
    this.#changes.write(() => this.#setCarried.run(wallet, floor));
    this.#uncarried.delete(wallet);
  }

  #load({ wallet, floor, is_carried }: FloorRow): void {
    this.#floors.set(wallet, floor);
    if (is_carried === 0) this.#uncarried.set(wallet, floor);
    else this.#uncarried.delete(wallet);
  }
}
