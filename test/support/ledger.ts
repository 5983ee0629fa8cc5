/** The ledger of the views, added up at once. */
import type { Views } from '../../gateway/views/index.ts';
import type { LedgerTotals } from '../../gateway/views/ledger.ts';

export function ledgerOf(views: Views): LedgerTotals {
  const steps = views.ledger().add();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
