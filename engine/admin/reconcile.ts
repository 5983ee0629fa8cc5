/**
 * Compares the deposits and withdrawals in the journals with those that control.db ordered. It is a difference if a
 * journal moves money that was not ordered, or if a movement was ordered and completed but no journal has it.
 */
import type Database from 'better-sqlite3';
import { MOVEMENT_NAMES } from '../../shared/base/codes.ts';
import { toHex } from '../../shared/base/hex.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';
import type { Accounting, JournaledMovement } from './accounting.ts';

type OrderedMovement = {
  readonly account: number;
  readonly movement: number;
  readonly amountMicro: bigint;
  readonly reference: string;
  readonly status: string;
};

/** @param isComplete true if the accounts were added up from the first record of every journal. */
export function reconcile(control: Database.Database, all: readonly Accounting[], isComplete: boolean): string[] {
  const differences: string[] = [];
  const ordered = orderedMovements(control);
  for (const accounting of all) {
    for (const [hash, journaled] of accounting.movements) {
      const order = ordered.get(hash);
      ordered.delete(hash);
      if (order === undefined || !isSame(order, journaled)) {
        differences.push(`record ${journaled.sequence}: ${inWords(journaled)}, which was not ordered`);
      } else if (order.status === 'refused') {
        differences.push(`record ${journaled.sequence}: ${inWords(journaled)}, which control.db says was refused`);
      }
    }
  }
  if (!isComplete) return differences;
  for (const order of ordered.values()) {
    if (order.status === 'completed') differences.push(`control.db: ${inWords(order)}, which no journal has`);
  }
  return differences;
}

type MovementRow = {
  readonly account_index: bigint;
  readonly kind: bigint;
  readonly amount_micro: bigint;
  readonly reference: string;
  readonly status: string;
  /** Absent or null in a file of an older version. */
  readonly reference_hash?: Uint8Array | null;
};

/**
 * Returns movements by the name that each has in its shard: a movement that `control repair` has recreated has lost its
 * reference.
 */
export function orderedMovements(control: Database.Database): Map<string, OrderedMovement> {
  const rows = control.prepare<[], MovementRow>('SELECT * FROM movements').safeIntegers().all();
  return new Map(
    rows.map(({ account_index, kind, amount_micro: amountMicro, reference, status, reference_hash }) => {
      const [account, movement] = [Number(account_index), Number(kind)];
      const hash = reference_hash ?? referenceHash(account, movement, reference);
      return [toHex(hash), { account, movement, amountMicro, reference, status }];
    }),
  );
}

function isSame(order: OrderedMovement, { account, movement, amountMicro }: JournaledMovement): boolean {
  return order.account === account && order.movement === movement && order.amountMicro === amountMicro;
}

function inWords({ account, movement, amountMicro }: Pick<JournaledMovement, 'account' | 'movement' | 'amountMicro'>) {
  return `a ${MOVEMENT_NAMES[movement]} of ${amountMicro} micro-USDC of account ${account}`;
}
