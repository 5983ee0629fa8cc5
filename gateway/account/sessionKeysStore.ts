/**
 * The keys of access tokens (RULES.md 15.2): one signs, and its predecessors still verify. Owner: the gateway thread;
 * the first key is made at the first start, and keys are rotated by a command while no server runs.
 *
 * Invariants:
 *   SESSIONKEYS-1  A key verifies for one token lifetime after its successor was made, and is then deleted.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { prepared } from '../../shared/base/prepared.ts';
import { makeSessionKey, openSessionKey, type SessionKeyRow } from '../../shared/crypto/sessionKeys.ts';
import type { ControlDatabase } from '../base/database.ts';

export const ACCESS_TOKEN_SEC = 900;
/** Verifiers' clocks may be behind. */
const MARGIN_MS = 60_000;

type Verifier = { readonly key: KeyObject; readonly jwk: object; readonly untilMs: number };

export class SessionKeys {
  readonly #database: ControlDatabase;
  readonly #masterKey: Uint8Array;
  readonly #verifiers = new Map<string, Verifier>();
  #kid = '';
  #privateKey!: KeyObject;

  /** Throws when the master key is not the one the keys were sealed with. */
  constructor(database: ControlDatabase, masterKey: Uint8Array, nowMs: number) {
    this.#database = database;
    this.#masterKey = masterKey;
    this.#load(nowMs);
  }

  get kid(): string {
    return this.#kid;
  }

  get privateKey(): KeyObject {
    return this.#privateKey;
  }

  /** Called when the leader has removed a key. */
  reload(): void {
    this.#load(Date.now());
  }

  #load(nowMs: number): void {
    const database = this.#database;
    // The clock may have been set back between two rotations, so the signing key is recognised by its private part.
    const newestFirst = 'SELECT * FROM session_keys ORDER BY sealed_private IS NULL, created_ms DESC, kid';
    const rows = prepared<[], SessionKeyRow>(database, newestFirst).all();
    const insert = prepared<[SessionKeyRow]>(
      database,
      'INSERT INTO session_keys VALUES ($kid, $public_jwk, $sealed_private, $created_ms)',
    );
    if (rows.length === 0) {
      const first = makeSessionKey(this.#masterKey, nowMs);
      insert.run(first);
      rows.push(first);
    }
    const [newest] = rows;
    this.#kid = newest.kid;
    this.#privateKey = openSessionKey(this.#masterKey, this.#kid, newest.sealed_private!);
    this.#verifiers.clear();
    let untilMs = Number.POSITIVE_INFINITY;
    for (const { kid, public_jwk, created_ms } of rows) {
      const jwk = JSON.parse(public_jwk);
      const verifier = { key: createPublicKey({ key: jwk, format: 'jwk' }), jwk, untilMs };
      if (untilMs > nowMs) this.#verifiers.set(kid, verifier);
      else if (database.isFollowing !== true) {
        prepared(database, 'DELETE FROM session_keys WHERE kid = ?').run(kid);
      }
      untilMs = created_ms + ACCESS_TOKEN_SEC * 1000 + MARGIN_MS;
    }
  }

  /** Null for a key that is unknown, or does not verify any more. */
  verifier(kid: string, nowMs: number): KeyObject | null {
    const verifier = this.#verifiers.get(kid);
    return verifier === undefined || verifier.untilMs <= nowMs ? null : verifier.key;
  }

  /** RFC 7517. */
  jwks(nowMs: number): object {
    const inForce = [...this.#verifiers].filter(([, { untilMs }]) => untilMs > nowMs);
    return { keys: inForce.map(([kid, { jwk }]) => ({ ...jwk, kid, alg: 'ES256', use: 'sig' })) };
  }
}
