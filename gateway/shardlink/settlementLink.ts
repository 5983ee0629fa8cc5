/**
 * The gateway's link to the chain: questions to the settlement thread, and news from it. Only that thread asks the
 * node. Owner: the gateway thread.
 *
 * Invariants:
 *   CHAINLINK-1  Every question ends: with the thread's answer, or with ChainDown if no answer comes in time or the
 *                thread ends. A request that ended with ChainDown may still have been carried out.
 *   CHAINLINK-2  News are acknowledged once their handler has resolved, and only then (NEWS-1). News whose handler
 *                failed are sent again; until then no later news of the same kind are.
 */
import { assert } from '../../shared/base/assert.ts';
import type {
  AnswerOf,
  AskOf,
  ChainAsk,
  ChainNews,
  ChainQuestion,
  ChainReply,
  NewsKind,
  NewsOf,
} from '../../shared/wire/chainQuestions.ts';
import type { Logger } from '../base/log.ts';

/** Longer than the thread itself waits for the node. */
const ANSWER_WITHIN_MS = 15_000;

/** The chain does not answer now: it is unknown whether a request was carried out. */
export class ChainDown extends Error {
  override readonly name = 'ChainDown';
}

/** A contract has refused. */
export class ChainRefused extends Error {
  override readonly name = 'ChainRefused';
  /** The name of the contract's error. */
  readonly error: string;

  constructor(error: string) {
    super(`a contract refused: ${error}`);
    this.error = error;
  }
}

type Waiting = {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
};
type Handler<K extends NewsKind> = (facts: ChainNews[K], number: number) => void | Promise<void>;
/** Sends the thread a message. @returns false while there is none. */
type Post = (ask: ChainAsk) => boolean;

export class ChainLink {
  readonly #log: Logger;
  readonly #post: Post;
  readonly #answerWithinMs: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #handlers = new Map<NewsKind, Handler<NewsKind>>();
  /** Numbers of news that are being carried out. */
  readonly #underway = new Set<number>();
  #accepts = false;
  #lastId = 0;

  constructor(post: Post, log: Logger, answerWithinMs = ANSWER_WITHIN_MS) {
    this.#post = post;
    this.#log = log;
    this.#answerWithinMs = answerWithinMs;
  }

  /** Rejects with ChainDown or ChainRefused (CHAINLINK-1). @param withinMs shorter where the node is not asked */
  ask<N extends ChainQuestion>(question: N, ask: AskOf<N>, withinMs = this.#answerWithinMs): Promise<AnswerOf<N>> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#down(id, 'no answer in time'), withinMs);
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject, timer });
      if (!this.#post({ id, question, ask })) this.#down(id, 'the settlement thread does not run');
    });
  }

  /** The handler may be called again with the same number, also after a restart, and must then have the same result. */
  onNews<K extends NewsKind>(kind: K, handler: Handler<K>): void {
    assert(!this.#handlers.has(kind), `chain link: ${kind} has one handler`);
    this.#handlers.set(kind, handler as Handler<NewsKind>);
  }

  /** From now on news are handled; earlier news are sent again. */
  acceptNews(): void {
    this.#accepts = true;
  }

  get acceptsNews(): boolean {
    return this.#accepts;
  }

  reply(reply: ChainReply): void {
    const waiting = this.#take(reply.id);
    // The answer came after its time limit.
    if (waiting === null) return;
    if ('answer' in reply) waiting.resolve(reply.answer);
    else waiting.reject('refused' in reply ? new ChainRefused(reply.refused) : new ChainDown(reply.down));
  }

  /** Keeps CHAINLINK-2. */
  async take({ kind, number, facts }: NewsOf): Promise<void> {
    const handler = this.#handlers.get(kind);
    if (!this.#accepts || handler === undefined || this.#underway.has(number)) return;
    this.#underway.add(number);
    try {
      await handler(facts, number);
      await this.ask('acknowledge', { news: number });
    } catch (error) {
      if (!(error instanceof ChainDown))
        this.#log.error({ err: error, kind, number }, 'news of the chain could not be applied; they are tried again');
    } finally {
      this.#underway.delete(number);
    }
  }

  /** The thread has ended, so its open questions end too. */
  threadEnded(): void {
    for (const id of [...this.#waiting.keys()]) this.#down(id, 'the settlement thread has ended');
  }

  #down(id: number, reason: string): void {
    this.#take(id)?.reject(new ChainDown(reason));
  }

  #take(id: number): Waiting | null {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return null;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    return waiting;
  }
}
