/** A rail over another one, some of whose answers the test replaces. */
import type { Rail } from '../../gateway/fiat/rail.ts';

export type RailHooks = Partial<
  Pick<Rail, 'accountNonce' | 'authorization' | 'broadcast' | 'head' | 'preflight' | 'transaction'>
>;

/** @param hooks may change at any time; `rail` answers everything that they lack. */
export function hookedRail(rail: Rail, hooks: RailHooks): Rail {
  return new Proxy(rail, {
    get(target, name) {
      const hook = hooks[name as keyof RailHooks];
      if (hook !== undefined) return hook;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
