/**
 * Answers with many rows, written a piece in each turn of the event loop: however long an answer is, other requests are
 * served between its pieces, orders first (base/spareTurns.ts). Accounts take turns, and so do the answers of one
 * account. A slow client receives its next piece after it has read the previous ones, so at most a piece or two wait
 * for it. Pieces are also bounded in time, because an order may be delayed by one in each of its turns.
 *
 * The last answer on a connection is collected first (RULES.md 6.12). uWebSockets.js closes a connection, once every
 * byte has left, only after an answer of known length: for one in chunks it would write a header into the body.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   LONGANSWER-1  A turn of the event loop writes one piece of one answer, of at most PIECE_ROWS rows; after the first
 *                 piece of an answer, a piece ends once it has taken PIECE_MS.
 *   LONGANSWER-2  An answer is over exactly once: with its last row, or when its client has gone away.
 *   LONGANSWER-3  An account has at most UNDERWAY_PER_ACCOUNT answers underway, and requests without one at most
 *                 UNDERWAY_ANONYMOUS: the data of their rows is kept until they are read.
 *   LONGANSWER-4  An answer that waits for its next rows is not ready, even if its client has read everything.
 *   LONGANSWER-5  Nothing of a collected answer has been sent. At MOST_COLLECTED it begins, in chunks.
 *   LONGANSWER-6  An answer has texts or bytes. One with bytes is never collected.
 */
import { assert } from '../../shared/base/assert.ts';
import { nowUs } from '../../shared/base/stopwatch.ts';
import { isAccount } from '../base/principal.ts';
import { SpareTurns } from '../base/spareTurns.ts';
import type { AnswerBody, Call, Collected, Rows } from './call.ts';
import { beginLongAnswer } from './httpTransport.ts';
import type { TurnTimes } from './turnTimes.ts';

/** Writing a row takes up to about ten microseconds, so a first piece holds the thread for well under a millisecond. */
export const PIECE_ROWS = 64;
/** Characters of an answer that is sent at once: as many as a piece has at most. */
const MOST_COLLECTED = 128 * 1024;
/** Ten times the cost of sending a piece. */
export const PIECE_MS = 0.2;
const UNDERWAY_PER_ACCOUNT = 8;
const UNDERWAY_ANONYMOUS = 256;
/** A client that has read nothing for this long is cut off. */
const STALLED_MS = 20_000;
/** Stands for the account of all requests that have none. */
const NO_ACCOUNT = 0;

type LongAnswer = {
  readonly call: Call;
  readonly account: number;
  readonly rows: Rows;
  /** LONGANSWER-5: null once it has begun. */
  collected: Collected | null;
  /** LONGANSWER-4. */
  waits: boolean;
  /** Runs while the client has not read what it was sent. */
  stalled: NodeJS.Timeout | null;
};

/** `awaited` is what the rows after it wait for. */
export type Piece = {
  readonly text: string;
  /** In place of the text. */
  readonly bytes?: Buffer;
  readonly isLast: boolean;
  readonly awaited: Promise<unknown> | null;
};

export class LongAnswers {
  /** Pieces written since the start. */
  pieces = 0;
  readonly #turns: TurnTimes;
  readonly #nowMs: () => number;
  readonly #spareTurns: SpareTurns;
  readonly #onError: (error: unknown, call: Call) => void;
  readonly #underway = new Map<number, number>();
  /** Answers whose next piece can be written, by account; the first of the first account is next. */
  readonly #ready = new Map<number, Set<LongAnswer>>();

  constructor(
    turns: TurnTimes,
    onError: (error: unknown, call: Call) => void,
    areOrdersUnderway: () => boolean = () => false,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#turns = turns;
    this.#nowMs = nowMs;
    this.#onError = onError;
    this.#spareTurns = new SpareTurns(this.#turn, areOrdersUnderway);
  }

  /** Answers that are being written. */
  get underway(): number {
    let sum = 0;
    for (const count of this.#underway.values()) sum += count;
    return sum;
  }

  /** LONGANSWER-3. */
  admits(call: Call): boolean {
    const account = accountOf(call);
    const bound = account === NO_ACCOUNT ? UNDERWAY_ANONYMOUS : UNDERWAY_PER_ACCOUNT;
    return (this.#underway.get(account) ?? 0) < bound;
  }

  /**
   * Continues an answer whose first piece has been written; the call is over with its last.
   * @param awaited what the rows after the first piece wait for
   */
  continue(call: Call, rows: Rows, isRead: boolean, awaited: Promise<unknown> | null = null): void {
    this.#take(call, rows, null, isRead, awaited);
  }

  /** Answers with what is collected and these rows, and closes the connection. @param awaited what the rows wait for */
  collect(call: Call, rows: Rows, collected: Collected, awaited: Promise<unknown> | null = null): void {
    this.#take(call, rows, collected, true, awaited);
  }

  #take(call: Call, rows: Rows, collected: Collected | null, isRead: boolean, awaited: Promise<unknown> | null): void {
    assert(this.admits(call), 'LONGANSWER-3: answers underway are bounded');
    const answer: LongAnswer = { call, account: accountOf(call), rows, collected, waits: false, stalled: null };
    this.#underway.set(answer.account, (this.#underway.get(answer.account) ?? 0) + 1);
    call.transport.onGone = () => this.#onGone(answer);
    call.response.onWritable(() => {
      this.#makeReady(answer);
      return true;
    });
    if (awaited !== null) this.#awaitRows(answer, awaited);
    if (isRead) this.#makeReady(answer);
    else this.#awaitReader(answer);
  }

  #makeReady(answer: LongAnswer): void {
    if (answer.stalled !== null) clearTimeout(answer.stalled);
    answer.stalled = null;
    if (answer.waits) return;
    let ofAccount = this.#ready.get(answer.account);
    if (ofAccount === undefined) {
      ofAccount = new Set();
      this.#ready.set(answer.account, ofAccount);
    }
    ofAccount.add(answer);
    this.#spareTurns.request();
  }

  /**
   * LONGANSWER-1. After its turn, the answer goes to the end among those of its account, and the account to the end of
   * the accounts.
   */
  readonly #turn = (): void => {
    const next = this.#ready.entries().next().value;
    if (next === undefined) return;
    const [account, answers] = next;
    const answer: LongAnswer = answers.values().next().value!;
    this.#ready.delete(account);
    answers.delete(answer);
    if (answers.size > 0) this.#ready.set(account, answers);
    if (this.#ready.size > 0) this.#spareTurns.request();
    const startedUs = nowUs();
    try {
      this.#write(answer);
    } catch (error) {
      this.#giveUp(answer, error);
    }
    this.#turns.end(answer.call.route, startedUs);
  };

  /**
   * Part of the answer may have been sent: the client must see that it is incomplete. A finished answer stays finished.
   */
  #giveUp({ call }: LongAnswer, error: unknown): void {
    this.#onError(error, call);
    if (call.transport.onGone !== null) call.response.close();
  }

  #write(answer: LongAnswer): void {
    const { text, bytes, isLast, awaited } = this.#takePiece(answer.rows);
    this.pieces++;
    const { collected } = answer;
    const isRead =
      collected === null
        ? send(answer, bytes ?? text, isLast)
        : collect(answer, collected.text + text, collected, isLast);
    if (awaited !== null) this.#awaitRows(answer, awaited);
    if (isLast) this.#end(answer);
    else if (isRead) this.#makeReady(answer);
    else this.#awaitReader(answer);
  }

  /** LONGANSWER-4. */
  #awaitRows(answer: LongAnswer, awaited: Promise<unknown>): void {
    answer.waits = true;
    const isOver = (): boolean => answer.call.transport.onGone === null;
    const goOn = (): void => {
      answer.waits = false;
      if (!isOver() && answer.stalled === null) this.#makeReady(answer);
    };
    awaited.then(goOn, (error) => {
      if (!isOver()) this.#giveUp(answer, error);
    });
  }

  /** LONGANSWER-1. */
  #takePiece(rows: Rows): Piece {
    const endMs = this.#nowMs() + PIECE_MS;
    return takePiece(rows, () => this.#nowMs() < endMs);
  }

  #awaitReader(answer: LongAnswer): void {
    answer.stalled = setTimeout(() => answer.call.response.close(), STALLED_MS);
  }

  #onGone(answer: LongAnswer): void {
    const ofAccount = this.#ready.get(answer.account);
    ofAccount?.delete(answer);
    if (ofAccount?.size === 0) this.#ready.delete(answer.account);
    this.#end(answer);
  }

  #end(answer: LongAnswer): void {
    const { call, account, rows } = answer;
    assert(call.transport.onGone !== null, 'LONGANSWER-2: an answer is over once');
    call.transport.onGone = null;
    if (answer.stalled !== null) clearTimeout(answer.stalled);
    const left = this.#underway.get(account)! - 1;
    if (left === 0) this.#underway.delete(account);
    else this.#underway.set(account, left);
    rows.return?.();
    call.host.onAnswered(call);
  }
}

/** @returns whether it has left. */
function send({ call: { response } }: LongAnswer, text: AnswerBody, isLast: boolean): boolean {
  let isRead = true;
  response.cork(() => {
    // The head says it where the client is to close the connection.
    if (isLast) response.end(text);
    else if (text.length > 0) isRead = response.write(text);
  });
  return isRead;
}

/** LONGANSWER-5. @returns whether all that was sent has left. */
function collect(answer: LongAnswer, text: string, { contentType }: Collected, isLast: boolean): boolean {
  const { call } = answer;
  if (isLast) call.transport.send(call, call.status, text, { contentType });
  else if (text.length < MOST_COLLECTED) answer.collected = { text, contentType };
  else {
    answer.collected = null;
    return beginLongAnswer(call, text, contentType);
  }
  return true;
}

/** Takes the next rows for one turn: at least one, unless it is not available yet, and more while there is time. */
export function takePiece(rows: Rows, hasTime: () => boolean = () => true): Piece {
  let text = '';
  for (let row = 0; row < PIECE_ROWS && (row === 0 || hasTime()); row++) {
    const { value, done } = rows.next();
    if (done) return { text, isLast: true, awaited: null };
    if (value instanceof Promise) return { text, isLast: false, awaited: value };
    if (typeof value !== 'string') {
      assert(text === '', 'LONGANSWER-6: an answer has texts or bytes');
      return { text, bytes: value, isLast: false, awaited: null };
    }
    text += value;
  }
  return { text, isLast: false, awaited: null };
}

function accountOf({ principal }: Call): number {
  return isAccount(principal) ? principal.accountIndex : NO_ACCOUNT;
}
