/**
 * Sessions (RULES.md 15.1): in memory for the request path, written through to control.db. sessions.ts handles their
 * tokens. Owner: the gateway thread.
 *
 * Invariants:
 *   SESSIONROWS-1  A session has one unused refresh token, of which only the hash is stored.
 *   SESSIONROWS-2  An ended session is removed from memory at once, and from control.db once `durable` resolves.
 *   SESSIONROWS-3  An account has at most MAX_SESSIONS. One more ends the least recently used one.
 *   SESSIONROWS-4  `refreshed` has the sessions with used tokens, least recently refreshed first; sessions refreshed
 *                  before the start come first, in any order.
 */
import { randomUUID } from 'node:crypto';
import { SELF_TRADE } from '../../shared/base/codes.ts';
import { Signal } from '../../shared/base/signal.ts';
import type { TakenRows } from '../../shared/records/changedRows.ts';
import type { ControlDatabase } from '../base/database.ts';
import { type Changes, SYNCED_AT_ONCE } from '../base/laterSync.ts';
import type { SessionPrincipal } from '../base/principal.ts';
import { SESSION_SCOPES } from '../base/scopes.ts';
import type { User } from './accounts.ts';

/** A refresh token that was recently exchanged for the next one. */
export type UsedToken = {
  readonly generation: number;
  readonly hash: Buffer;
  readonly usedMs: number;
  readonly successorSealed: Buffer;
  /** The name of the program that used it, as it gave it; null if that was before the start (it is not stored). */
  readonly usedBy: string | null;
};

export type Session = {
  /** Replaced when the person proves their identity again; compare sessions by id. */
  principal: SessionPrincipal;
  /** The way in: `wallet`, `privy`, or the name of a provider. */
  readonly method: string;
  /** The program that signed in, as it named itself; null if it did not. */
  readonly userAgent: string | null;
  readonly createdMs: number;
  /** The time at which the unused refresh token was made. */
  rotatedMs: number;
  generation: number;
  tokenHash: Buffer;
  /** Used lately, the oldest first. */
  used: readonly UsedToken[];
};

type SessionRow = {
  id: string;
  account_index: number;
  method: string;
  user_agent: string | null;
  created_ms: number;
  authenticated_ms: number;
  rotated_ms: number;
  generation: number;
  token_hash: Buffer;
};

type UsedRow = {
  session_id: string;
  generation: number;
  token_hash: Buffer;
  used_ms: number;
  successor_sealed: Buffer;
};

export const MAX_SESSIONS = 50;

export class SessionStore {
  /** A session has ended. */
  readonly ended = new Signal<SessionPrincipal>();
  readonly #database: ControlDatabase;
  readonly #changes: Changes;
  readonly #sessions = new Map<string, Session>();
  readonly #byAccount = new Map<number, Set<Session>>();
  /** SESSIONROWS-4 */
  readonly #refreshed = new Set<Session>();
  /** Ended sessions that are still in control.db. */
  readonly #owed = new Set<string>();
  readonly #statements;
  readonly #idOf: (accountIndex: number) => string;

  constructor(database: ControlDatabase, idOf: (accountIndex: number) => string, changes = SYNCED_AT_ONCE) {
    this.#database = database;
    this.#changes = changes;
    this.#idOf = idOf;
    this.#statements = prepare(database);
    for (const row of database.prepare<[], SessionRow>('SELECT * FROM sessions').iterate()) {
      this.#add(fromRow(row, idOf(row.account_index)));
    }
    const used = 'SELECT * FROM used_refresh_tokens ORDER BY session_id, generation';
    for (const row of database.prepare<[], UsedRow>(used).iterate()) {
      const session = this.#sessions.get(row.session_id)!;
      session.used = [...session.used, toUsed(row)];
      this.#refreshed.add(session);
    }
  }

  /** Reads these sessions again. */
  reload(changed: TakenRows): void {
    for (const id of new Set([...changed.textsOf('sessions'), ...changed.textsOf('used_refresh_tokens')])) {
      const row = this.#statements.select.get(id);
      if (row === undefined) this.#remove(id);
      else this.#reloadOne(row);
    }
  }

  #reloadOne(row: SessionRow): void {
    const read = fromRow(row, this.#idOf(row.account_index));
    const session = this.#sessions.get(row.id) ?? read;
    if (session === read) this.#add(session);
    const isRefreshed = read.generation !== session.generation;
    Object.assign(session, read, { used: this.#statements.selectUsed.all(row.id).map(toUsed) });
    if (isRefreshed || session.used.length === 0) this.#refreshed.delete(session);
    if (session.used.length > 0) this.#refreshed.add(session);
  }

  get count(): number {
    return this.#sessions.size;
  }

  all(): IterableIterator<Session> {
    return this.#sessions.values();
  }

  /** SESSIONROWS-4 */
  refreshed(): IterableIterator<Session> {
    return this.#refreshed.values();
  }

  find(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** The sessions of the account, most recently opened last. */
  of(account: number): Session[] {
    return [...(this.#byAccount.get(account) ?? [])];
  }

  /** Durable once `durable` says so. @param tokenOf makes the hash of the first refresh token of the new session. */
  open(
    user: Pick<User, 'index' | 'id'>,
    facts: Pick<Session, 'method' | 'userAgent'>,
    nowMs: number,
    tokenOf: (id: string) => Buffer,
  ): Session {
    const principal = principalOf(randomUUID(), user.index, user.id, nowMs);
    const id = principal.sessionId;
    const times = { createdMs: nowMs, rotatedMs: nowMs };
    const session: Session = { principal, ...facts, ...times, generation: 0, tokenHash: tokenOf(id), used: [] };
    this.#makeRoom(user.index);
    this.#changes.write(() => this.#statements.insert.run(toRow(session)));
    this.#add(session);
    return session;
  }

  /**
   * Records that the refresh token was used.
   * @param tokenHash the hash of the next token
   * @param kept the number of entries of `session.used` to keep, from the end
   */
  rotate(session: Session, used: UsedToken, tokenHash: Buffer, kept: readonly UsedToken[]): void {
    const { sessionId } = session.principal;
    const generation = session.generation + 1;
    const firstKept = (kept[0] ?? used).generation;
    const { rotate, insertUsed, deleteUsed } = this.#statements;
    const write = this.#database.transaction(() => {
      rotate.run(generation, used.usedMs, tokenHash, sessionId);
      deleteUsed.run(sessionId, firstKept);
      insertUsed.run(toUsedRow(sessionId, used));
    });
    this.#changes.write(write);
    session.generation = generation;
    session.rotatedMs = used.usedMs;
    session.tokenHash = tokenHash;
    session.used = [...kept, used];
    this.#refreshed.delete(session);
    this.#refreshed.add(session);
  }

  /** The used token was repeated: another repeat of it, or of an earlier one, ends the session. */
  repeated(session: Session, { generation }: UsedToken): void {
    this.#changes.write(() => this.#statements.deleteUsed.run(session.principal.sessionId, generation + 1));
    session.used = session.used.filter((each) => each.generation > generation);
    if (session.used.length === 0) this.#refreshed.delete(session);
  }

  /** From now on a repeat of a used token of these sessions ends them, also after a restart. */
  forgetUsed(sessions: readonly Session[]): void {
    if (sessions.length === 0) return;
    const write = this.#database.transaction(() => {
      for (const { principal, generation } of sessions)
        this.#statements.deleteUsed.run(principal.sessionId, generation);
    });
    this.#changes.write(write);
    for (const session of sessions) {
      session.used = [];
      this.#refreshed.delete(session);
    }
  }

  /** The person has proved again to be the one. */
  authenticated(session: Session, nowMs: number): void {
    const { sessionId, accountIndex, userId } = session.principal;
    this.#changes.write(() => this.#statements.authenticate.run(nowMs, sessionId));
    session.principal = principalOf(sessionId, accountIndex, userId, nowMs);
  }

  /** Ending a session twice changes nothing. The sessions have ended even if this throws, as on a full disk. */
  end(...ids: readonly string[]): void {
    for (const id of ids) this.#forget(id);
    this.writeEnded();
  }

  /** Removes ended sessions from control.db. Repeated from time to time, because the disk may have been full. */
  writeEnded(): void {
    if (this.#owed.size === 0) return;
    const write = this.#database.transaction(() => {
      for (const id of this.#owed) this.#statements.delete.run(id);
    });
    this.#changes.write(write);
    this.#owed.clear();
  }

  durable(): Promise<void> {
    return this.#changes.durable();
  }

  /** SESSIONROWS-3. */
  #makeRoom(account: number): void {
    const sessions = this.of(account);
    if (sessions.length < MAX_SESSIONS) return;
    const oldest = sessions.reduce((a, b) => (b.rotatedMs < a.rotatedMs ? b : a));
    this.end(oldest.principal.sessionId);
  }

  #forget(id: string): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#owed.add(id);
    this.#remove(id);
  }

  #remove(id: string): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.#refreshed.delete(session);
    const { accountIndex } = session.principal;
    const others = this.#byAccount.get(accountIndex)!;
    others.delete(session);
    if (others.size === 0) this.#byAccount.delete(accountIndex);
    this.ended.notify(session.principal);
  }

  #add(session: Session): void {
    const { sessionId, accountIndex } = session.principal;
    this.#sessions.set(sessionId, session);
    const others = this.#byAccount.get(accountIndex) ?? new Set();
    this.#byAccount.set(accountIndex, others.add(session));
  }
}

function prepare(database: ControlDatabase) {
  return {
    insert: database.prepare<SessionRow>(
      `INSERT INTO sessions VALUES ($id, $account_index, $method, $user_agent, $created_ms, $authenticated_ms,
         $rotated_ms, $generation, $token_hash)`,
    ),
    select: database.prepare<[string], SessionRow>('SELECT * FROM sessions WHERE id = ?'),
    selectUsed: database.prepare<[string], UsedRow>(
      'SELECT * FROM used_refresh_tokens WHERE session_id = ? ORDER BY generation',
    ),
    rotate: database.prepare<[number, number, Buffer, string]>(
      'UPDATE sessions SET generation = ?, rotated_ms = ?, token_hash = ? WHERE id = ?',
    ),
    authenticate: database.prepare<[number, string]>('UPDATE sessions SET authenticated_ms = ? WHERE id = ?'),
    delete: database.prepare<[string]>('DELETE FROM sessions WHERE id = ?'),
    insertUsed: database.prepare<UsedRow>(
      'INSERT INTO used_refresh_tokens VALUES ($session_id, $generation, $token_hash, $used_ms, $successor_sealed)',
    ),
    deleteUsed: database.prepare<[string, number]>(
      'DELETE FROM used_refresh_tokens WHERE session_id = ? AND generation < ?',
    ),
  };
}

function principalOf(
  sessionId: string,
  accountIndex: number,
  userId: string,
  authenticatedAtMs: number,
): SessionPrincipal {
  return {
    kind: 'session',
    sessionId,
    accountIndex,
    userId,
    scopes: SESSION_SCOPES,
    selfTradePrevention: SELF_TRADE.NONE,
    authenticatedAtMs,
  };
}

function toRow({ principal, method, userAgent, createdMs, rotatedMs, generation, tokenHash }: Session): SessionRow {
  return {
    id: principal.sessionId,
    account_index: principal.accountIndex,
    method,
    user_agent: userAgent,
    created_ms: createdMs,
    authenticated_ms: principal.authenticatedAtMs,
    rotated_ms: rotatedMs,
    generation,
    token_hash: tokenHash,
  };
}

function fromRow(row: SessionRow, userId: string): Session {
  return {
    principal: principalOf(row.id, row.account_index, userId, row.authenticated_ms),
    method: row.method,
    userAgent: row.user_agent,
    createdMs: row.created_ms,
    rotatedMs: row.rotated_ms,
    generation: row.generation,
    tokenHash: row.token_hash,
    used: [],
  };
}

function toUsed({ generation, token_hash, used_ms, successor_sealed }: UsedRow): UsedToken {
  return { generation, hash: token_hash, usedMs: used_ms, successorSealed: successor_sealed, usedBy: null };
}

function toUsedRow(session_id: string, { generation, hash, usedMs, successorSealed }: UsedToken): UsedRow {
  return { session_id, generation, token_hash: hash, used_ms: usedMs, successor_sealed: successorSealed };
}
