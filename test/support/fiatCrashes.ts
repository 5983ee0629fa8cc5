/** The points between the seven steps of an off-ramp (RULES.md 16.22) at which a process can end. */
import type { FiatRig } from './fiatRig.ts';

type Part = 'provider' | 'transfers' | 'rail' | 'books' | 'webhooks';

/** `before`: the step before it is durable, its own is not begun. `after`: it has happened, and no one knows. */
const POINTS = {
  'before the provider is called': ['before', 'provider', 'createLaunch'],
  'after the provider was called': ['after', 'provider', 'createLaunch'],
  'before the intent is stored': ['before', 'transfers', 'addIntent'],
  'after the intent was shown': ['before', 'rail', 'isSignedBy'],
  'before the signature is stored': ['before', 'transfers', 'sign'],
  'after the signature was stored': ['before', 'rail', 'preflight'],
  'before the envelope is stored': ['before', 'transfers', 'addEnvelope'],
  'after the envelope was stored': ['before', 'rail', 'broadcast'],
  'after the broadcast': ['after', 'rail', 'broadcast'],
  'before the debit': ['before', 'books', 'move'],
  'after the debit': ['after', 'books', 'move'],
  'before the confirmation is stored': ['before', 'transfers', 'claim'],
  'before an event is stored': ['before', 'webhooks', 'add'],
  'before an event is processed': ['before', 'webhooks', 'processed'],
} as const satisfies Record<string, readonly ['before' | 'after', Part, string]>;

type CrashPoint = keyof typeof POINTS;
export const CRASH_POINTS = Object.keys(POINTS) as CrashPoint[];

type Methods = Record<string, (...args: unknown[]) => unknown>;

/** Calls `crash`, which does not return, whenever the point is reached. */
export function crashAt(rig: FiatRig, point: CrashPoint, crash: () => void): void {
  const [when, part, method] = POINTS[point];
  const { fiat, provider, books, ledger: rail } = rig;
  const parts: Record<Part, object> = { provider, transfers: fiat.transfers, rail, books, webhooks: fiat.webhooks };
  const target = parts[part] as Methods;
  const original = target[method]!.bind(target);
  target[method] = (...args) => {
    if (when === 'before') crash();
    const result = original(...args);
    if (when === 'before') return result;
    return Promise.resolve(result).then((value) => {
      crash();
      return value;
    });
  };
}
