/** A deposit or a withdrawal as answers show it. */
import type { FundMovement as ShownMovement } from '../../shared/api/accounts.ts';
import { MOVEMENT, MOVEMENT_NAMES } from '../../shared/base/codes.ts';
import type { FundMovement } from './movements.ts';

/** @param holdsFunds SettlementPort.holdsFunds: a withdrawal completed in the ledger is paid later */
export function movementOf(movement: FundMovement, holdsFunds: boolean): ShownMovement {
  const isPaidLater = holdsFunds && movement.kind === MOVEMENT.WITHDRAWAL && movement.status === 'completed';
  return {
    id: movement.id,
    type: MOVEMENT_NAMES[movement.kind],
    amount_usdc_micro: String(movement.amountMicro),
    reference: movement.reference,
    status: isPaidLater ? 'pending' : movement.status,
    created_at: new Date(movement.createdMs).toISOString(),
    ...(isPaidLater ? { fee_usdc_micro: String(movement.feeMicro) } : {}),
  };
}
