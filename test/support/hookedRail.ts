/** A rail over another one, some of whose answers the test replaces. */
import type { LedgerRail } from '../../gateway/fiat/ledgerRail.ts';
import type { Rail, RelayRail } from '../../gateway/fiat/rail.ts';

export type RailHooks = Partial<
  Pick<RelayRail, 'accountNonce' | 'authorization' | 'broadcast' | 'head' | 'preflight' | 'transaction'> &
    Pick<LedgerRail, 'send'>
>;

/** @param hooks may change at any time; `rail` answers everything that they lack. */
export function hookedRail(rail: Rail, hooks: RailHooks): Rail {
  return new Proxy(rail, {
    get(target, name) {
      const hook = hooks[name as keyof RailHooks];
      if (hook !== undefined) return hook;
      const value = Reflect.get(target, name, target);
      // The payer of the rail asks the hooks too.
      if (name === 'payer') return value;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
