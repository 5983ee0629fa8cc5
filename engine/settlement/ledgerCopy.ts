/**
 * The ledger's balances as of the followed records, taken from the journals' events. They are compared with the
 * balances on the chain (reconciliation.ts).
 */
import { prepared } from '../../shared/base/prepared.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe, readSigned } from '../../shared/wire/record.ts';

export class LedgerCopy {
  readonly #db: StoreDatabase;
  readonly #onChanged: (account: number, market: number | null) => void;
  /** The last balance within the current stretch, by account and shard, and by account and market. */
  readonly #usdc = new Map<string, readonly [account: number, shard: number, micro: number]>();
  readonly #tokens = new Map<string, readonly [account: number, market: number, yes: number, no: number]>();

  /** @param onChanged is called with each balance that a stretch has changed; a market number means its tokens */
  constructor(db: StoreDatabase, onChanged: (account: number, market: number | null) => void) {
    this.#db = db;
    this.#onChanged = onChanged;
  }

  /** Takes an ACCOUNT event, which holds absolute balances. */
  note(shard: number, words: Uint32Array, word: number): void {
    const { ACCOUNT } = EVENT;
    const [account, market] = [words[word + ANY_EVENT.account], words[word + ANY_EVENT.market]];
    const micro = readSigned(words, word + ACCOUNT.netMicro) + readSafe(words, word + ACCOUNT.reservedMicro);
    this.#usdc.set(`${account} ${shard}`, [account, shard, micro]);
    if (market === NO_MARKET) return;
    const yes = readSigned(words, word + ACCOUNT.yesAvailable) + readSafe(words, word + ACCOUNT.yesReserved);
    const no = readSigned(words, word + ACCOUNT.noAvailable) + readSafe(words, word + ACCOUNT.noReserved);
    this.#tokens.set(`${account} ${market}`, [account, market, yes, no]);
  }

  /** Called in the transaction of the stretch. */
  flush(): void {
    const usdc = prepared(this.#db, 'INSERT OR REPLACE INTO ledger_usdc VALUES (?, ?, ?)');
    const tokens = prepared(this.#db, 'INSERT OR REPLACE INTO ledger_tokens VALUES (?, ?, ?, ?)');
    for (const row of this.#usdc.values()) {
      usdc.run(...row);
      this.#onChanged(row[0], null);
    }
    for (const row of this.#tokens.values()) {
      tokens.run(...row);
      this.#onChanged(row[0], row[1]);
    }
    this.drop();
  }

  /** Called when the stretch was not stored. */
  drop(): void {
    this.#usdc.clear();
    this.#tokens.clear();
  }
}
