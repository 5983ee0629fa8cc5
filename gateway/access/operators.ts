/**
 * Keeps the named administrators: in memory for the identity stage, written through to control.db.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   OPERATORS-1  A token leaves this file once, in the answer of `create`; only its hash is stored.
 *   OPERATORS-2  A name belongs to one operator for ever, even after revocation, and never to the bootstrap superuser:
 *                so a name in the audit log has one meaning.
 *   OPERATORS-3  The creator of an operator has seen its token. Creators form a tree below the bootstrap superuser.
 *                `branch` is the topmost creator below it, or the operator itself if the superuser created it. All
 *                operators of one branch may be the same person.
 *
 * A token has 256 random bits and is never chosen by a person, so its plain SHA-256 is no easier to reverse than the
 * token is to guess.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { OperatorRole } from '../../shared/api/operators.ts';
import { assert } from '../../shared/base/assert.ts';
import { Signal } from '../../shared/base/signal.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Administrator, BOOTSTRAP } from '../base/principal.ts';
import type { OperatorTokens } from './administrators.ts';

export type OperatorEntry = Administrator & {
  readonly branch: string;
  /** The name of the operator who created it. */
  readonly createdBy: string;
  readonly createdMs: number;
  readonly revokedMs: number | null;
};

type OperatorRow = {
  id: string;
  name: string;
  roles: string;
  token_hash: Buffer;
  branch: string;
  created_by: string;
  created_ms: number;
  revoked_ms: number | null;
};

const ID_BYTES = 12;
const SECRET_BYTES = 32;
const HASH_BYTES = 32;
const SEPARATOR = '.';
/** The list is answered in full, and every start reads it. */
const MAX_OPERATORS = 1000;
/** An unknown id is compared with this hash, so that it takes the same time as a known one. */
const NO_HASH = Buffer.alloc(HASH_BYTES);

export class Operators implements OperatorTokens {
  /** Emits the id of a revoked operator. */
  readonly revoked = new Signal<string>();
  readonly #operators = new Map<string, OperatorEntry>();
  readonly #hashes = new Map<string, Buffer>();
  readonly #names = new Set<string>([BOOTSTRAP.name]);
  readonly #insert;
  readonly #revoke;
  readonly #select;

  constructor(database: ControlDatabase) {
    this.#insert = database.prepare<OperatorRow>(
      `INSERT INTO operators VALUES ($id, $name, $roles, $token_hash, $branch, $created_by, $created_ms, $revoked_ms)`,
    );
    this.#revoke = database.prepare<[number, string]>('UPDATE operators SET revoked_ms = ? WHERE id = ?');
    this.#select = database.prepare<[string], OperatorRow>('SELECT * FROM operators WHERE id = ?');
    const rows = database.prepare<[], OperatorRow>('SELECT * FROM operators ORDER BY created_ms, id').all();
    for (const row of rows) this.#add(row);
  }

  /** A row is never deleted (OPERATORS-2). */
  reload(changed: TakenRows): void {
    for (const id of changed.textsOf('operators')) {
      const former = this.#operators.get(id);
      const { revokedMs } = this.#add(this.#select.get(id)!);
      if (former?.revokedMs === null && revokedMs !== null) this.revoked.notify(id);
    }
  }

  get isFull(): boolean {
    return this.#operators.size >= MAX_OPERATORS;
  }

  /** Operators in the order of creation. */
  all(): OperatorEntry[] {
    return [...this.#operators.values()];
  }

  find(id: string): OperatorEntry | undefined {
    return this.#operators.get(id);
  }

  nameOf(operatorId: string): string {
    return this.#operators.get(operatorId)?.name ?? BOOTSTRAP.name;
  }

  isNameUsed(name: string): boolean {
    return this.#names.has(name);
  }

  /** All operators of one branch may be the same person (OPERATORS-3). */
  branchOf(operatorId: string): string {
    return this.#operators.get(operatorId)?.branch ?? operatorId;
  }

  /** True as long as the administrator may act: the bootstrap superuser always, an operator until it is revoked. */
  isInForce(operatorId: string): boolean {
    return operatorId === BOOTSTRAP.operatorId || this.#operators.get(operatorId)?.revokedMs === null;
  }

  /** Compares in constant time: an unknown id costs as much as a known one with a wrong secret. */
  holderOf(token: string): Administrator | null {
    const end = token.indexOf(SEPARATOR);
    const id = token.slice(0, Math.max(end, 0));
    const isSame = timingSafeEqual(hashOf(token), this.#hashes.get(id) ?? NO_HASH);
    const operator = this.#operators.get(id);
    return isSame && operator?.revokedMs === null ? operator : null;
  }

  /** The caller has checked that the name is free and the table is not full. */
  create(
    name: string,
    roles: readonly OperatorRole[],
    maker: Administrator,
    nowMs: number,
  ): { readonly operator: OperatorEntry; readonly token: string } {
    assert(!this.isNameUsed(name), 'OPERATORS-2: a name belongs to one operator');
    const id = `opr_${randomBytes(ID_BYTES).toString('base64url')}`;
    const token = id + SEPARATOR + randomBytes(SECRET_BYTES).toString('base64url');
    const row: OperatorRow = {
      id,
      name,
      roles: JSON.stringify(roles),
      token_hash: hashOf(token),
      branch: maker.operatorId === BOOTSTRAP.operatorId ? id : this.branchOf(maker.operatorId),
      created_by: maker.name,
      created_ms: nowMs,
      revoked_ms: null,
    };
    this.#insert.run(row);
    return { operator: this.#add(row), token };
  }

  /** From the next request on the token is refused. Revoking it again changes nothing. */
  revoke(operator: OperatorEntry, nowMs: number): OperatorEntry {
    if (operator.revokedMs !== null) return operator;
    this.#revoke.run(nowMs, operator.operatorId);
    const revoked: OperatorEntry = { ...operator, revokedMs: nowMs };
    this.#operators.set(operator.operatorId, revoked);
    this.revoked.notify(operator.operatorId);
    return revoked;
  }

  #add(row: OperatorRow): OperatorEntry {
    const operator: OperatorEntry = {
      kind: 'administrator',
      operatorId: row.id,
      name: row.name,
      roles: JSON.parse(row.roles),
      branch: row.branch,
      createdBy: row.created_by,
      createdMs: row.created_ms,
      revokedMs: row.revoked_ms,
    };
    this.#operators.set(row.id, operator);
    this.#hashes.set(row.id, row.token_hash);
    this.#names.add(row.name);
    return operator;
  }
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
