/** The points between the seven steps of an off-ramp (RULES.md 16.22) at which a process can end. */
import type { FiatSession } from '../../gateway/fiat/fiatSessionsStore.ts';
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

export type CrashPoint = keyof typeof POINTS;
type Place = readonly ['before' | 'after', Part, string];

/** In the books a signed intent is sent in one step; null: they have no such point. */
const IN_BOOKS: Partial<Record<CrashPoint, Place | null>> = {
  'after the signature was stored': ['before', 'rail', 'send'],
  'before the envelope is stored': null,
  'after the envelope was stored': null,
  'after the broadcast': ['after', 'rail', 'send'],
};

const ALL_POINTS = Object.keys(POINTS) as CrashPoint[];
export const LEDGER_CRASH_POINTS = ALL_POINTS.filter((point) => IN_BOOKS[point] !== null);

/** A chain has no books that could be asked. */
export const CHAIN_CRASH_POINTS = ALL_POINTS.filter((point) => POINTS[point][1] !== 'books');

type Methods = Record<string, (...args: unknown[]) => unknown>;

/** Calls `crash`, which does not return, whenever the point is reached. */
export function crashAt(rig: FiatRig, point: CrashPoint, crash: () => void): void {
  const [when, part, method] = (rig.evm === null ? IN_BOOKS[point] : undefined) ?? POINTS[point];
  const { fiat, provider, books, rail } = rig;
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

/** The key under which the walk creates its session, so that a continued walk finds it. */
const KEY = '0190a0b0-c0d0-7000-8000-0000000000af';

export function sessionOfWalk(rig: FiatRig): FiatSession | undefined {
  return rig.fiat.sessions.ofKey(rig.customer.index, KEY);
}

/** Plays a person who begins, signs and comes back, and a provider, from any earlier state. */
export async function walkOffRamp(rig: FiatRig, isOver: () => boolean): Promise<void> {
  for (let round = 0; round < 80 && !isOver(); round++) {
    try {
      if (await takeStep(rig)) return;
    } catch (error) {
      if (!isOver()) throw error;
    }
  }
}

/** @returns true if there is nothing left to do. */
async function takeStep(rig: FiatRig): Promise<boolean> {
  const session = sessionOfWalk(rig);
  if (session === undefined || session.status === 'initiated') {
    await rig.create('offramp', { idempotencyKey: KEY });
    return false;
  }
  if (session.transferState === 'awaiting_provider') await rig.provide(session, {});
  else if (session.transferState === 'waiting_for_wallet') await rig.sign(session);
  else if (session.transferState === 'confirmed') {
    rig.provider.set(session.partnerReference, rig.rowOf(session, { status: 'success', txHash: session.txHash }));
    const event = { provider: 'fake', eventId: 'e1', partnerReference: session.partnerReference };
    rig.fiat.webhooks.add(event, Buffer.from('{}'), rig.nowMs);
  }
  await rig.pass(1000);
  return session.status === 'completed';
}
