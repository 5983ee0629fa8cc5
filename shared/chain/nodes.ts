/**
 * The nodes of a chain behind one interface (RULES.md 17.47). The answers of a single node are used as they are. With
 * several nodes, a statement about the chain counts if more than half of them make it: a node that is away, behind or
 * wrong changes nothing while the others are right, and if they do not agree there is no answer at all.
 *
 * Invariants:
 *   NODES-1  Everything that is read of the chain was stated by a quorum, about one block: `latest` and `finalized` are
 *            the newest block that a quorum has reached, and it agrees on its hash.
 *   NODES-2  A transaction goes to every node, and one that accepts it is enough; the tip is the median of the
 *            suggestions. Neither is used as a fact about the chain.
 *   NODES-3  Once a quorum has answered, no other node is waited for, except briefly for heads. Late answers are still
 *            compared.
 */
import type { NodeHealth } from '../base/chainFacts.ts';
import { blockAsked, common, fieldOf, numberOf } from './nodeAnswers.ts';
import { NodeStanding } from './nodeStanding.ts';
import { HttpRpc, NodeUnreachable, type Rpc, RpcError } from './rpc.ts';

/** For this long, questions about the newest block use the same block. */
const HEAD_MS = 1000;
/**
 * After a quorum, the other nodes have this much time, so that a lagging node in the quorum does not hold back the
 * head.
 */
const GRACE_MS = 300;
/** The parameter of a question that names a block. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_getTransactionCount: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_call: 1,
};

type Tag = 'latest' | 'finalized';
type Given = { readonly by: NodeStanding; readonly answer: unknown };
type Head = { readonly atMs: number; readonly block: Promise<Record<string, unknown>> };

export class ChainNodes implements Rpc {
  /** The only node, if there is no other. */
  readonly #only: Rpc | null;
  readonly #nodes: readonly NodeStanding[];
  readonly #quorum: number;
  readonly #nowMs: () => number;
  readonly #heads = new Map<Tag, Head>();
  #head = 0;

  constructor(nodes: Rpc[], nowMs: () => number = Date.now) {
    this.#only = nodes.length === 1 ? nodes[0] : null;
    this.#nodes = nodes.map((rpc, i) => new NodeStanding(i + 1, rpc, nowMs));
    this.#quorum = Math.floor(nodes.length / 2) + 1;
    this.#nowMs = nowMs;
  }

  /** The health of several nodes; the problem of a single node is part of settlement's health. */
  get health(): readonly NodeHealth[] {
    return this.#only !== null ? [] : this.#nodes.map(({ health }) => health);
  }

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    if (this.#only !== null) return this.#only.call(method, params);
    if (method === 'eth_sendRawTransaction') return this.#broadcast(params);
    if (method === 'eth_maxPriorityFeePerGas') return this.#middle(method, params);
    if (method === 'eth_getBlockByNumber' && isTag(params[0])) return this.#newest(params[0]);
    if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') await this.#at('latest');
    return this.#agreed(method, await this.#aboutOneBlock(method, params));
  }

  async #aboutOneBlock(method: string, params: readonly unknown[]): Promise<readonly unknown[]> {
    const at = BLOCK_AT[method];
    const tag = at === undefined ? null : params[at];
    return isTag(tag) ? params.with(at, (await this.#at(tag))['number']) : params;
  }

  /** The block of a tag, used for successive questions. */
  #at(tag: Tag): Promise<Record<string, unknown>> {
    const known = this.#heads.get(tag);
    return known !== undefined && this.#nowMs() - known.atMs < HEAD_MS ? known.block : this.#newest(tag);
  }

  #newest(tag: Tag): Promise<Record<string, unknown>> {
    const block = this.#findNewest(tag);
    const head = { atMs: this.#nowMs(), block };
    this.#heads.set(tag, head);
    block.catch(() => {
      if (this.#heads.get(tag) === head) this.#heads.delete(tag);
    });
    return block;
  }

  /** NODES-1 */
  async #findNewest(tag: Tag): Promise<Record<string, unknown>> {
    const method = 'eth_getBlockByNumber';
    const given = (await this.#gathered(method, [tag, false])).map(({ by, answer }) => {
      return { by, number: numberOf(fieldOf(answer, 'number')), second: numberOf(fieldOf(answer, 'timestamp')) ?? 0 };
    });
    const placed = given.filter(({ number }) => number !== null).sort((a, b) => b.number! - a.number!);
    if (placed.length < this.#quorum) throw this.#tooFew(method, placed.length);
    if (tag === 'latest') {
      const middle = placed[Math.floor((placed.length - 1) / 2)].second;
      for (const { by, number, second } of placed) by.noteHead(number!, Math.max(0, middle - second));
    }
    const number = `0x${placed[this.#quorum - 1].number!.toString(16)}`;
    const block = await this.#agreed(method, [number, false]);
    if (block === null) throw new NodeUnreachable(`${method}: the nodes do not have their newest block`);
    if (tag === 'latest') this.#head = Number(number);
    return block as Record<string, unknown>;
  }

  /** NODES-2 */
  async #broadcast(params: readonly unknown[]): Promise<unknown> {
    const method = 'eth_sendRawTransaction';
    try {
      return await Promise.any(this.#nodes.map((node) => node.ask(method, params)));
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      const { errors } = error;
      throw errors.find((each) => each instanceof RpcError) ?? errors[0];
    }
  }

  async #middle(method: string, params: readonly unknown[]): Promise<unknown> {
    const given = await this.#gathered(method, params, 1);
    const found = given.flatMap(({ answer }) => {
      return typeof answer === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(answer) ? [BigInt(answer)] : [];
    });
    const sorted = found.sort((a, b) => (a < b ? -1 : 1));
    if (sorted.length === 0) throw this.#tooFew(method, 0);
    return `0x${sorted[Math.floor((sorted.length - 1) / 2)].toString(16)}`;
  }

  /** Gathers the answers that arrive within a moment of the first ones. */
  async #gathered(method: string, params: readonly unknown[], needed = this.#quorum): Promise<Given[]> {
    const given: Given[] = [];
    const failed: unknown[] = [];
    const { promise: isEnough, resolve } = Promise.withResolvers<void>();
    const asked = this.#asked().map(async (by) => {
      try {
        given.push({ by, answer: await by.ask(method, params) });
        if (given.length >= needed) resolve();
      } catch (error) {
        failed.push(error);
      }
    });
    const all = Promise.all(asked).then(() => undefined);
    await Promise.race([isEnough, all]);
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resume) => (timer = setTimeout(resume, GRACE_MS)));
    await Promise.race([all, grace]);
    clearTimeout(timer);
    if (given.length < needed)
      throw failed.find((error) => error instanceof RpcError) ?? this.#tooFew(method, given.length);
    return given;
  }

  /** The nodes to ask: those that may be asked, or all if these would be too few. */
  #asked(): readonly NodeStanding[] {
    const well = this.#nodes.filter(({ mayBeAsked }) => mayBeAsked);
    return well.length >= this.#quorum ? well : this.#nodes;
  }

  /** Keeps NODES-1 and NODES-3. */
  #agreed(method: string, params: readonly unknown[]): Promise<unknown> {
    const vote = new Vote({ method, params, quorum: this.#quorum, head: this.#head });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const askAll = (nodes: readonly NodeStanding[]): Promise<unknown> => {
      return Promise.all(nodes.map((node) => vote.take(node, resolve, reject)));
    };
    const first = this.#asked();
    const others = this.#nodes.filter((node) => !first.includes(node));
    void (async () => {
      await askAll(first);
      if (!vote.isDecided) await askAll(others);
      vote.compare();
      if (!vote.isDecided) reject(vote.failure ?? this.#tooFew(method, vote.answers));
    })().catch(reject);
    return promise;
  }

  #tooFew(method: string, answers: number): NodeUnreachable {
    const { length } = this.#nodes;
    return new NodeUnreachable(`${method}: ${answers} of ${length} nodes answer, and ${this.#quorum} have to`);
  }
}

type Question = {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly quorum: number;
  /** The newest block that a quorum has. */
  readonly head: number;
};
type Choice = { readonly value: unknown; readonly error: RpcError | null; readonly by: NodeStanding[] };

/** The answers to one question, grouped by their content. */
class Vote {
  readonly #method: string;
  readonly #params: readonly unknown[];
  readonly #quorum: number;
  readonly #head: number;
  readonly #choices = new Map<string, Choice>();
  #chosen: Choice | null = null;
  #refusal: RpcError | null = null;
  /** A transaction that waits for a block and is in at least one pool: only its hash is reported. */
  #waiting: { readonly hash: unknown } | null = null;

  constructor({ method, params, quorum, head }: Question) {
    this.#method = method;
    this.#params = params;
    this.#quorum = quorum;
    this.#head = head;
  }

  get isDecided(): boolean {
    return this.#chosen !== null;
  }

  get answers(): number {
    return [...this.#choices.values()].reduce((sum, { by }) => sum + by.length, 0);
  }

  /** The reason why there is no answer; null if too few nodes have answered. */
  get failure(): Error | null {
    if (this.#choices.size > 1) {
      const sides = [...this.#choices.values()].map(({ by }) => by.map(({ node }) => node).join(', '));
      return new NodeUnreachable(`${this.#method}: the nodes do not agree (node ${sides.join(' otherwise than ')})`);
    }
    return this.#refusal;
  }

  async take(by: NodeStanding, resolve: (value: unknown) => void, reject: (error: Error) => void): Promise<void> {
    try {
      const value = await by.ask(this.#method, this.#params, (answer) => {
        const said = common(this.#method, answer, this.#head);
        if (said === null && answer !== null) this.#waiting = { hash: this.#params[0] };
        return said;
      });
      this.#put(JSON.stringify(value), { value, error: null, by: [by] });
    } catch (error) {
      if (error instanceof NodeUnreachable) return;
      if (!(error instanceof RpcError)) throw error;
      if (error.data === null) {
        this.#refusal ??= error;
        return;
      }
      this.#put(`reverted ${error.data}`, { value: null, error, by: [by] });
    }
    if (this.#chosen === null) return;
    const { value, error } = this.#chosen;
    if (error !== null) reject(error);
    else resolve(value === null && this.#method === 'eth_getTransactionByHash' ? this.#waiting : value);
  }

  /**
   * Called once all nodes have answered: finds the nodes that disagree. A lagging node says less, which is not wrong.
   */
  compare(): void {
    const choices = [...this.#choices.values()];
    const { value } = this.#chosen ?? choices.find((choice) => choice.value !== null) ?? { value: null };
    const block = blockAsked(this.#method, this.#params, value);
    for (const choice of choices) {
      if (choice === this.#chosen || choices.length === 1) continue;
      for (const node of choice.by) if (block === null || node.head >= block) node.differs(this.#method);
    }
  }

  #put(key: string, choice: Choice): void {
    const before = this.#choices.get(key);
    if (before === undefined) this.#choices.set(key, choice);
    else before.by.push(...choice.by);
    const kept = this.#choices.get(key)!;
    if (this.#chosen === null && kept.by.length >= this.#quorum) this.#chosen = kept;
  }
}

/** @param text the addresses of RPC_URL, separated by commas */
export function openNodes(text: string): ChainNodes {
  return new ChainNodes(nodeUrls(text).map((url) => new HttpRpc(url)));
}

export function nodeUrls(text: string): string[] {
  return text.split(',').map((url) => url.trim());
}

function isTag(value: unknown): value is Tag {
  return value === 'latest' || value === 'finalized';
}
