/** A deposit or a withdrawal as answers show it. */
import type { FundMovement as ShownMovement } from '../../../shared/api/accounts.ts';
import { MOVEMENT_NAMES } from '../../../shared/base/codes.ts';
import type { FundMovement } from '../../store/movements.ts';

export function movementOf(movement: FundMovement): ShownMovement {
  return {
    id: movement.id,
    type: MOVEMENT_NAMES[movement.kind],
    amount_usdc_micro: String(movement.amountMicro),
    reference: movement.reference,
    status: movement.status,
    created_at: new Date(movement.createdMs).toISOString(),
  };
}
