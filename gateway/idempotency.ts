/**
 * The idempotency stage (RULES.md 6): one request at a time may hold a key of its account on a route. A second one with
 * the same payload is told the first is still in flight, one with another payload that the key is taken.
 * Owner: the gateway thread. In memory only: a crash forgets who was in flight, so no key can stay stuck.
 *
 * Invariants:
 *   D1  A slot is held from `begin` to `end` of exactly one call.
 *   D2  A refused call holds nothing, so its end frees nothing of the call it was refused for.
 */
import { hash } from 'node:crypto';
import { assert } from '../shared/assert.ts';
import { ERRORS, type ErrorRow } from '../shared/errors.ts';
import { UUID_BYTES, uuidToBytes } from '../shared/hex.ts';
import type { Call } from './call.ts';
import type { Route } from './route.ts';

const scratch = new Uint8Array(UUID_BYTES);

export class IdempotencyStage {
  /** Slot to fingerprint of the payload. */
  readonly #inFlight = new Map<string, string>();

  /** Null when the call may go on, with or without a key. */
  begin(call: Call, route: Route): ErrorRow | null {
    if (call.idempotencyKey === '') return null;
    if (!uuidToBytes(call.idempotencyKey, scratch, 0)) return ERRORS.IDEMPOTENCY_KEY_MALFORMED;
    call.idempotencyKey = call.idempotencyKey.toLowerCase();
    assert(call.key !== null, 'idempotency: the route is not for keys');
    const slot = `${call.key.accountIndex} ${route.method} ${route.path} ${call.idempotencyKey}`;
    const fingerprint = fingerprintOf(call);
    const held = this.#inFlight.get(slot);
    if (held !== undefined) {
      return held === fingerprint ? ERRORS.IDEMPOTENCY_KEY_IN_PROGRESS : ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH;
    }
    this.#inFlight.set(slot, fingerprint);
    call.idempotencySlot = slot;
    call.idempotencyFingerprint = fingerprint;
    return null;
  }

  end(call: Call): void {
    if (call.idempotencySlot === '') return;
    this.#inFlight.delete(call.idempotencySlot);
    call.idempotencySlot = '';
  }
}

function fingerprintOf(call: Call): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${call.method} ${call.target}\n`), call.body]), 'hex');
}
