/**
 * API keys, sealed and hashed in control.db (RULES.md 4.5). Keys in use are opened and in memory for the authenticator.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   KEYS-1  Secret and passphrase leave this file once, in the answer of `issue` or `rotate`.
 *   KEYS-2  A revoked key stays known, so its use is answered as revoked and not as unknown.
 */
import { randomBytes } from 'node:crypto';
import { BlockList } from 'node:net';
import { assert } from '../../shared/base/assert.ts';
import type { SelfTrade } from '../../shared/base/codes.ts';
import { Signal } from '../../shared/base/signal.ts';
import { openSecret, sealSecret } from '../../shared/crypto/secretBox.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { Limit, Tier } from '../base/classes.ts';
import type { ControlDatabase } from '../base/database.ts';
import { HmacKey } from '../base/hmacKey.ts';
import { tryParseNetworks } from '../base/networks.ts';
import { Passphrase, sealPassphrase } from '../base/passphrase.ts';
import type { ApiKey } from '../base/principal.ts';
import type { KeyStore } from './authenticator.ts';
import { KeptKeys } from './keptKeys.ts';
import type { AheadTimestamps } from './nonces.ts';

/** The rights and limits of a key. */
export type KeyPolicy = {
  /** A mask of SCOPE bits. */
  readonly scopes: number;
  readonly tier: Tier;
  readonly rateLimitOverride: Limit | null;
  readonly requireSigningVersion: 1 | 2 | null;
  readonly selfTradePrevention: SelfTrade;
  /** The addresses and networks from which the key may be used; absent or null: any. */
  readonly allowedIps?: readonly string[] | null;
};

/** All there is to know of a key but its secrets. */
export type KnownKey = {
  readonly keyId: string;
  readonly policy: KeyPolicy;
  readonly expiresMs: number | null;
  readonly revokedMs: number | null;
  readonly createdMs: number;
};

export type IssuedKey = { readonly key: ApiKey; readonly secret: string; readonly passphrase: string };

type KeyRow = {
  key_id: string;
  account_index: number;
  sealed_secret: Buffer;
  passphrase_hash: Buffer;
  policy: string;
  expires_ms: number | null;
  revoked_ms: number | null;
  created_ms: number;
  ahead_sec: number;
};

const KEY_ID_BYTES = 12;
const SECRET_BYTES = 32;
const PASSPHRASE_BYTES = 24;

export class ApiKeys implements KeyStore, AheadTimestamps {
  readonly #masterKey: Uint8Array;
  readonly #idOf: (accountIndex: number) => string;
  readonly #keys: Pick<KeptKeys<ApiKey>, 'get' | 'set'>;
  /**
   * The largest timestamp that earlier processes accepted, of keys whose clock was ahead; the nonces of this process
   * cover the later ones.
   */
  readonly #aheadBefore = new Map<string, number>();
  readonly #ahead = new Map<string, number>();
  /** Emits the id of a key that is no longer valid, or whose secret is not. */
  readonly revoked = new Signal<string>();
  readonly #insert;
  readonly #revoke;
  readonly #raiseAhead;
  readonly #listOf;
  readonly #replaceSecret;
  readonly #select;

  /** Throws when the master key is not the one the secrets were sealed with. */
  constructor(
    database: ControlDatabase,
    masterKey: Uint8Array,
    idOf: (accountIndex: number) => string,
    kept: Pick<KeptKeys<ApiKey>, 'get' | 'set'> = new KeptKeys<ApiKey>(),
  ) {
    this.#masterKey = masterKey;
    this.#keys = kept;
    this.#idOf = idOf;
    this.#insert = database.prepare<KeyRow>(
      `INSERT INTO api_keys VALUES ($key_id, $account_index, $sealed_secret, $passphrase_hash, $policy, $expires_ms,
         $revoked_ms, $created_ms, $ahead_sec)`,
    );
    this.#revoke = database.prepare<[number, string]>('UPDATE api_keys SET revoked_ms = ? WHERE key_id = ?');
    this.#replaceSecret = database.prepare<[Buffer, Buffer, string]>(
      'UPDATE api_keys SET sealed_secret = ?, passphrase_hash = ? WHERE key_id = ?',
    );
    this.#listOf = database.prepare<[number], KeyRow>(
      'SELECT * FROM api_keys WHERE account_index = ? ORDER BY created_ms, key_id',
    );
    this.#raiseAhead = database.prepare<[number, string]>('UPDATE api_keys SET ahead_sec = ? WHERE key_id = ?');
    this.#select = database.prepare<[string], KeyRow>('SELECT * FROM api_keys WHERE key_id = ?');
    const first = database.prepare<[], KeyRow>('SELECT * FROM api_keys LIMIT 1').get();
    if (first !== undefined) this.#load(first);
  }

  /** Reads these keys again; connections opened with keys that are no longer valid are closed. */
  reload(changed: TakenRows): void {
    for (const keyId of changed.textsOf('api_keys')) {
      const row = this.#select.get(keyId)!;
      if (row.ahead_sec > 0) this.#aheadBefore.set(keyId, row.ahead_sec);
      // A key that is not in memory has no connection.
      const former = this.#keys.get(keyId);
      if (former === undefined) continue;
      const isOver = !former.revoked && row.revoked_ms !== null;
      const isRotated = !former.passphrase.isSealedAs(row.passphrase_hash);
      if (!isOver && !isRotated) continue;
      this.#load(row);
      this.revoked.notify(keyId);
    }
  }

  /** Throws if its secret cannot be opened: the row is damaged. `rotate` mends it, and `revoke` ends it. */
  find(keyId: string): ApiKey | undefined {
    const kept = this.#keys.get(keyId);
    if (kept !== undefined) return kept;
    const row = this.#select.get(keyId);
    return row === undefined ? undefined : this.#load(row);
  }

  /** The keys of an account, the revoked ones too, in the order in which they were made. */
  listOf(account: number): KnownKey[] {
    return this.#listOf.all(account).map(toKnown);
  }

  known(keyId: string): KnownKey | undefined {
    const row = this.#select.get(keyId);
    return row === undefined ? undefined : toKnown(row);
  }

  issue(
    user: { readonly index: number; readonly id: string },
    policy: KeyPolicy,
    expiresMs: number | null,
    nowMs: number,
  ): IssuedKey {
    const keyId = `key_${randomBytes(KEY_ID_BYTES).toString('base64url')}`;
    const secret = randomBytes(SECRET_BYTES);
    const passphrase = randomBytes(PASSPHRASE_BYTES).toString('base64url');
    const row: KeyRow = {
      key_id: keyId,
      account_index: user.index,
      sealed_secret: sealSecret(this.#masterKey, keyId, secret),
      passphrase_hash: sealPassphrase(passphrase),
      policy: JSON.stringify(policy),
      expires_ms: expiresMs,
      revoked_ms: null,
      created_ms: nowMs,
      ahead_sec: 0,
    };
    this.#insert.run(row);
    return { key: this.#add(row, secret, user.id), secret: secret.toString('base64url'), passphrase };
  }

  /**
   * Gives the key a new secret and passphrase; the old ones are void from the next request on, and connections opened
   * with them are closed. The key itself stays valid.
   */
  rotate(keyId: string): IssuedKey {
    const row = this.#select.get(keyId);
    assert(row !== undefined && row.revoked_ms === null, 'KEYS-2: only a key in force gets another secret');
    const secret = randomBytes(SECRET_BYTES);
    const passphrase = randomBytes(PASSPHRASE_BYTES).toString('base64url');
    const passphrase_hash = sealPassphrase(passphrase);
    this.#replaceSecret.run(sealSecret(this.#masterKey, keyId, secret), passphrase_hash, keyId);
    const key = this.#add({ ...row, passphrase_hash }, secret, this.#idOf(row.account_index));
    this.revoked.notify(keyId);
    return { key, secret: secret.toString('base64url'), passphrase };
  }

  /** From the next request on the key is refused. Revoking it again changes nothing. */
  revoke(keyId: string, nowMs: number): void {
    const row = this.#select.get(keyId);
    assert(row !== undefined, 'KEYS-2: only a known key is revoked');
    if (row.revoked_ms !== null) return;
    this.#revoke.run(nowMs, keyId);
    const kept = this.#keys.get(keyId);
    if (kept !== undefined) this.#keys.set(keyId, { ...kept, revoked: true });
    this.revoked.notify(keyId);
  }

  aheadBeforeStart(keyId: string): number {
    return this.#aheadBefore.get(keyId) ?? 0;
  }

  /** Durable when it returns. A key whose clock is ahead costs one small write a second. */
  acceptedAhead(keyId: string, timestampSec: number): void {
    if (timestampSec <= (this.#ahead.get(keyId) ?? 0)) return;
    this.#raiseAhead.run(timestampSec, keyId);
    this.#ahead.set(keyId, timestampSec);
  }

  #load(row: KeyRow): ApiKey {
    return this.#add(row, openSecret(this.#masterKey, row.key_id, row.sealed_secret), this.#idOf(row.account_index));
  }

  #add(row: KeyRow, secret: Uint8Array, userId: string): ApiKey {
    // A key is read before its first request, and perhaps again when this process has raised the timestamp.
    if (row.ahead_sec > 0 && !this.#ahead.has(row.key_id)) this.#aheadBefore.set(row.key_id, row.ahead_sec);
    const policy: KeyPolicy = JSON.parse(row.policy);
    const key: ApiKey = {
      kind: 'apiKey',
      keyId: row.key_id,
      accountIndex: row.account_index,
      userId,
      secret: new HmacKey(secret),
      passphrase: new Passphrase(row.passphrase_hash),
      scopes: policy.scopes,
      revoked: row.revoked_ms !== null,
      expiresAtMs: row.expires_ms,
      requireSigningVersion: policy.requireSigningVersion,
      tier: policy.tier,
      rateLimitOverride: policy.rateLimitOverride,
      selfTradePrevention: policy.selfTradePrevention,
      allowedNetworks: toNetworks(policy),
    };
    this.#keys.set(key.keyId, key);
    return key;
  }
}

function toKnown(row: KeyRow): KnownKey {
  return {
    keyId: row.key_id,
    policy: JSON.parse(row.policy),
    expiresMs: row.expires_ms,
    revokedMs: row.revoked_ms,
    createdMs: row.created_ms,
  };
}

/** A stored list that cannot be parsed is damaged: the key is then accepted from no address. */
function toNetworks({ allowedIps }: KeyPolicy): BlockList | null {
  return allowedIps == null ? null : (tryParseNetworks(allowedIps) ?? new BlockList());
}
