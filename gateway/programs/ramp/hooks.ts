/**
 * Sends the sandbox provider's events, signed, until each is accepted or has been tried MAX_TRIES times.
 * Owner: the provider's thread.
 */
import { HOOK_SIGNATURE, signHook } from '../../../shared/crypto/hookSignature.ts';
import type { Desk } from './desk.ts';
import type { HookRow } from './store.ts';

const BATCH = 50;
const MAX_TRIES = 20;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;

export type SentHook = { readonly headers: Readonly<Record<string, string>>; readonly body: string };
/** @returns true if the receiver has accepted the event. */
export type SendHook = (hook: SentHook) => Promise<boolean>;

export class Hooks {
  readonly #desk: Desk;
  readonly #secret: string;
  readonly #send: SendHook;
  #isBusy = false;

  constructor(desk: Desk, secret: string, send: SendHook) {
    this.#desk = desk;
    this.#secret = secret;
    this.#send = send;
  }

  async tick(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const { store, clock, switches } = this.#desk;
      const due = store.hooksDue(clock.nowMs(), BATCH);
      for (const hook of switches.hooksReversed ? due.reverse() : due) await this.#try(hook);
    } finally {
      this.#isBusy = false;
    }
  }

  async #try({ sequence, event_id, body, tries }: HookRow): Promise<void> {
    const { store, clock } = this.#desk;
    const nowMs = clock.nowMs();
    const named = { 'content-type': 'application/json', 'x-event-id': event_id };
    const signature = signHook(this.#secret, named, Buffer.from(body), nowMs);
    const isAccepted = await this.#send({ headers: { ...named, [HOOK_SIGNATURE]: signature }, body }).catch(
      () => false,
    );
    if (isAccepted || tries + 1 >= MAX_TRIES) store.removeHook(sequence);
    else store.delayHook(sequence, nowMs + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries));
  }
}
