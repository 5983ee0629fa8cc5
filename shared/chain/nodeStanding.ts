/**
 * One of several nodes, and the knowledge about it: whether it answers, how far it is behind, and how often it
 * disagreed with most nodes. A node that does not answer is not asked for a while, and then one question at a time, so
 * that a node that hangs holds neither calls nor memory.
 */
import type { NodeHealth } from '../base/chainFacts.ts';
import { errorOf } from '../base/thrown.ts';
import { NodeUnreachable, QUOTA, type Rpc, RpcError } from './rpc.ts';

const REST_MS = 5000;
/** With more calls under way than this, a node counts as not answering. */
const MOST_UNDER_WAY = 64;
const BEHIND_SEC = 30;
/** A node is reported as differing for this long after its last differing answer. */
const DIFFERS_MS = 600_000;

export class NodeStanding {
  readonly node: number;
  /** Its newest block, as it last stated. */
  head = 0;
  readonly #rpc: Rpc;
  readonly #nowMs: () => number;
  #underWay = 0;
  #restsUntilMs = 0;
  #away: string | null = null;
  #behindSec = 0;
  #differences = 0;
  #differed: { readonly what: string; readonly atMs: number } | null = null;

  constructor(node: number, rpc: Rpc, nowMs: () => number) {
    this.node = node;
    this.#rpc = rpc;
    this.#nowMs = nowMs;
  }

  get health(): NodeHealth {
    const { node } = this;
    const differences = this.#differences;
    if (this.#differed !== null && this.#nowMs() - this.#differed.atMs < DIFFERS_MS) {
      return { node, differences, state: 'differs', reason: `${this.#differed.what}: another answer than the others` };
    }
    if (this.#away !== null) return { node, differences, state: 'away', reason: this.#away };
    if (this.#behindSec <= BEHIND_SEC) return { node, differences, state: 'well', reason: null };
    return { node, differences, state: 'behind', reason: `its newest block is ${this.#behindSec} s older` };
  }

  /** False while the node is not to be asked. */
  get mayBeAsked(): boolean {
    if (this.#underWay >= MOST_UNDER_WAY) return false;
    return this.#restsUntilMs === 0 || (this.#underWay === 0 && this.#nowMs() >= this.#restsUntilMs);
  }

  /** @param read extracts the value from the answer; throws NodeUnreachable if the answer is malformed */
  async ask(method: string, params: readonly unknown[], read = (answer: unknown) => answer): Promise<unknown> {
    if (this.#underWay >= MOST_UNDER_WAY) throw new NodeUnreachable(`${method}: the node answers too slowly`);
    this.#underWay++;
    try {
      const answer = read(await this.#rpc.call(method, params));
      this.#well();
      return answer;
    } catch (error) {
      if (!(error instanceof RpcError)) this.#fails(errorOf(error), true);
      else if (error.data !== null) this.#well();
      // Most refusals of transactions concern the transaction, and say nothing about the node.
      else if (method !== 'eth_sendRawTransaction') this.#fails(error, QUOTA.test(error.message));
      throw error;
    } finally {
      this.#underWay--;
    }
  }

  noteHead(head: number, behindSec: number): void {
    this.head = head;
    this.#behindSec = behindSec;
  }

  differs(what: string): void {
    this.#differences++;
    this.#differed = { what, atMs: this.#nowMs() };
  }

  #well(): void {
    this.#restsUntilMs = 0;
    this.#away = null;
  }

  #fails(error: Error, rests: boolean): void {
    if (rests) this.#restsUntilMs = this.#nowMs() + REST_MS;
    this.#away = error.message;
  }
}
