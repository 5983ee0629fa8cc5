/** The ledger of the views, added up at once. */

import type { LedgerTotals } from '../../gateway/shardlink/ledgerView.ts';
import type { Views } from '../../gateway/shardlink/views.ts';

export function ledgerOf(views: Views): LedgerTotals {
  const steps = views.ledger().add();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
