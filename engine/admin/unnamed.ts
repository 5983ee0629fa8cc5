/** Accounts, markets and movements of money that the journals have but control.db lacks. */
import type Database from 'better-sqlite3';
import { bytesToUuid, toHex } from '../../shared/base/hex.ts';
import { type CommandOf, decodeCommand, feeIn, movementIn } from '../../shared/wire/commands.ts';
import type { ShardFile } from './directory.ts';
import { orderedMovements } from './reconcile.ts';
import { currentState } from './replica.ts';

type NamedMarket = { readonly shard: number; readonly id: string };
/** A deposit or withdrawal by the administrator, and the record that carried it out. */
export type UnnamedMovement = Pick<CommandOf<'FUNDS'>, 'account' | 'market' | 'amountMicro'> & {
  readonly movement: number;
  /** The fee that the account paid for it (RULES.md 17.50). */
  readonly feeMicro: number;
  readonly shard: number;
  readonly sequence: number;
  readonly timeMs: number;
  readonly hash: Uint8Array;
};

type Unnamed = {
  /** Accounts with money, tokens or a movement of money. */
  readonly accounts: ReadonlySet<number>;
  readonly markets: readonly NamedMarket[];
  /** Movements in records that the journals still have. */
  readonly movements: readonly UnnamedMovement[];
};

/** @param files intact journals */
export function findUnnamed(control: Database.Database, files: readonly ShardFile[]): Unnamed {
  const users = new Set(control.prepare<[], number>('SELECT account_index FROM users').pluck().all());
  const ids = new Set(control.prepare<[], string>('SELECT id FROM markets').pluck().all());
  const ordered = orderedMovements(control);
  const accounts = new Set<number>();
  const markets: NamedMarket[] = [];
  const movements: UnnamedMovement[] = [];
  for (const file of files) {
    const { shard } = file;
    const { state } = currentState(file, ({ sequence, timeMs, command: { words, word } }) => {
      const moved = decodeCommand(words, word);
      if (moved.name !== 'FUNDS') return;
      const { account, market, movementAndFee, amountMicro, reference } = moved;
      if (ordered.has(toHex(reference))) return;
      accounts.add(account);
      const [movement, feeMicro] = [movementIn(movementAndFee), feeIn(movementAndFee)];
      const hash = reference.slice();
      movements.push({ shard, sequence, timeMs, account, market, movement, feeMicro, amountMicro, hash });
    }).engine;
    for (const { uuid } of state.markets.all()) {
      const id = bytesToUuid(new Uint8Array(new Uint32Array(uuid.subarray(0, 4)).buffer));
      if (!ids.has(id)) markets.push({ shard, id });
    }
    const { ledger } = state;
    for (let account = 0; account < ledger.accountCapacity; account++) {
      if (ledger.netMicro[account] !== 0) accounts.add(account);
    }
    for (const account of ledger.positions.pairs.accounts.subarray(0, ledger.positions.count)) accounts.add(account);
  }
  // The exchange's own account has no row.
  accounts.delete(0);
  for (const account of users) accounts.delete(account);
  return { accounts, markets, movements };
}

/** @param files intact journals. @returns a line for the operator; null if nothing is missing */
export function unnamedIn(control: Database.Database, files: readonly ShardFile[]): string | null {
  const tables = "SELECT count(*) FROM sqlite_schema WHERE name IN ('users', 'markets', 'movements')";
  if (control.prepare<[], number>(tables).pluck().get() !== 3) return null;
  const { accounts, markets, movements } = findUnnamed(control, files);
  if (accounts.size === 0 && markets.length === 0 && movements.length === 0) return null;
  const counts = `${accounts.size} accounts, ${markets.length} markets and ${movements.length} movements of money`;
  return `it is older than the journals: ${counts} of theirs are not in it`;
}
