/**
 * Deployments of markets: the market factory makes a market and registers its tokens with the exchange contract, which
 * can settle their trades from then on.
 *
 *   wanted ──► submitted ──► mined ──► final
 *     ▲            │ refused
 *     └──pause── failed ── the fifth retry was refused, and no work waits ──► given_up
 *
 * Invariants:
 *   DEPLOYS-1  Each arrow is durable before the next begins. Sending twice has no effect: the contracts know a market
 *              by its id.
 *   DEPLOYS-2  A market counts as deployed only when the chain confirms that the exchange contract knows its tokens,
 *              and these are the tokens that its orders were signed for.
 *   DEPLOYS-3  A node that does not answer does not count as a failed deployment.
 *   DEPLOYS-4  A deployment follows the transaction that has carried it out, also one that was reverted before a
 *              reorganisation.
 */

import { encodeAbiParameters, encodeEventTopics, encodeFunctionData, hexToBytes, parseAbiParameters } from 'viem';
import { type Draft, EnvelopeRows } from '../../shared/chain/envelopeRows.ts';
import { Envelopes } from '../../shared/chain/envelopes.ts';
import { EXCHANGE_ABI, FACTORY_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { ChainKey } from '../../shared/chain/key.ts';
import type { Block, BlockTag, ChainNode, Hex, Receipt } from '../../shared/chain/node.ts';
import { type MarketChain, marketIds, outcomeTokenIds } from '../../shared/chain/outcomeTokens.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import type { StoreDatabase } from '../../shared/records/recordedDatabase.ts';
import type { Deploy, DeployRows } from './deployRows.ts';

type DeploysOptions = {
  readonly db: StoreDatabase;
  readonly rows: DeployRows;
  readonly node: ChainNode;
  readonly key: ChainKey;
  readonly chainId: number;
  readonly chain: MarketChain & { readonly marketFactory: Hex };
  readonly mostFeeWei: bigint;
  readonly nowMs: () => number;
};

const MOST_RETRIES = 5;
/** The pause before the first retry; it doubles with each retry, up to the longest. */
const FIRST_PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 600_000;
/** Deployments per round: each costs a few calls to the node. */
const MOST_PER_ROUND = 16;
const DEPLOY_GAS = 400_000;
const REVERTED = 'the transaction was reverted';

export class Deploys {
  readonly #options: DeploysOptions;
  readonly #envelopes: Envelopes;
  readonly #envelopeRows: EnvelopeRows;

  constructor(options: DeploysOptions) {
    this.#options = options;
    const { db, key } = options;
    this.#envelopeRows = new EnvelopeRows(db, key.address);
    this.#envelopes = new Envelopes({ ...options, rows: this.#envelopeRows, jobs: this });
    if (db.isFollowing !== true) this.begin();
  }

  /** Forgets transactions of an earlier key: nothing follows them any more. */
  begin(): void {
    const { db, rows } = this.#options;
    const own = new Set(this.#envelopeRows.unsettled().map(({ job }) => job));
    db.transaction(() => rows.takeOver(own))();
  }

  /** One round, which costs no calls while nothing is under way. An error of the node ends it; the next goes on. */
  async step(heads: { readonly head: Block; readonly finalized: Block }): Promise<void> {
    const due = this.#options.rows.due(MOST_PER_ROUND);
    if (due.length === 0 && this.#envelopeRows.unsettled().length === 0) return;
    for (const deploy of due) {
      if (this.#envelopes.hasRoom) await this.#begin(deploy, heads.finalized);
    }
    await this.#envelopes.step(heads);
  }

  health(): { readonly foreign: number; readonly isAtMostFee: boolean; readonly lastRefusal: string | null } {
    const { foreign, isAtMostFee, lastRefusal } = this.#envelopes;
    return { foreign, isAtMostFee, lastRefusal };
  }

  async read(job: number, receipt: Receipt): Promise<() => void> {
    const { rows } = this.#options;
    const { id } = rows.whoseJob(job);
    const refusal = receipt.isSuccess ? await this.#refusalAfter(rows.get(id), receipt) : REVERTED;
    return () => {
      const deploy = rows.get(id);
      if (deploy.status === 'final') return;
      if (deploy.job !== job && (refusal !== null || deploy.status === 'mined')) return;
      if (refusal === null) rows.mined(id, job);
      else this.#fail(deploy, refusal);
    };
  }

  unmined(job: number): void {
    const deploy = this.#options.rows.ofJob(job);
    if (deploy?.status === 'mined') this.#options.rows.set(deploy.id, 'submitted');
  }

  final(job: number): void {
    const deploy = this.#options.rows.ofJob(job);
    if (deploy?.status === 'mined') this.#options.rows.set(deploy.id, 'final');
  }

  lost(job: number, draft: Draft): void {
    if (this.#options.rows.ofJob(job) !== null) this.#envelopes.reserve(job, draft);
  }

  /**
   * Keeps DEPLOYS-1. A market that is registered for good needs no transaction; one that would be refused now costs no
   * gas.
   */
  async #begin(deploy: Deploy, finalized: Block): Promise<void> {
    const { db, rows } = this.#options;
    const commit = (change: () => void): void => db.transaction(change)();
    if (deploy.status === 'failed') commit(() => rows.set(deploy.id, 'wanted'));
    if (await this.#isRegistered(deploy, finalized.number)) {
      commit(() => rows.set(deploy.id, 'final'));
      return;
    }
    const draft = await this.#draft(deploy);
    const refusal = await this.#refusalOf(draft);
    if (refusal !== null) commit(() => this.#fail(deploy, refusal));
    else commit(() => this.#envelopes.reserve(rows.submit(deploy.id), draft));
  }

  /** The factory registers each market it creates with the current exchange contract, and other markets on request. */
  async #draft({ uuid }: Deploy): Promise<Draft> {
    const { node, chain } = this.#options;
    const to = chain.marketFactory;
    const { questionId } = marketIds(to, hexToBytes(uuid));
    const isCreated = encodeFunctionData({ abi: FACTORY_ABI, functionName: 'isCreated', args: [questionId] });
    const functionName = isTrue(await node.view(to, isCreated, 'latest')) ? 'register' : 'createMarket';
    return { to, data: encodeFunctionData({ abi: FACTORY_ABI, functionName, args: [uuid] }), gas: DEPLOY_GAS };
  }

  async #refusalOf(draft: Draft): Promise<string | null> {
    const { node, key } = this.#options;
    try {
      await node.simulate({ ...draft, from: key.address });
      return null;
    } catch (error) {
      if (error instanceof RpcError) return error.message;
      throw error;
    }
  }

  /** Without the event the market was registered before. Registrations are permanent, so the latest state shows it. */
  async #refusalAfter(deploy: Deploy, { logs }: Receipt): Promise<string | null> {
    const { conditionId, tokens } = this.#idsOf(deploy);
    const [event] = encodeEventTopics({ abi: EXCHANGE_ABI, eventName: 'MarketRegistered', args: { conditionId } });
    const isRegistered = logs.some(
      ({ address, topics, data }) =>
        address === deploy.exchange && topics[0] === event && topics[1] === conditionId && data === tokens,
    );
    if (isRegistered || (await this.#isRegistered(deploy, 'latest'))) return null;
    return 'the market factory registers its markets with another exchange';
  }

  /** Keeps DEPLOYS-2. */
  async #isRegistered(deploy: Deploy, tag: BlockTag): Promise<boolean> {
    const { conditionId, tokens } = this.#idsOf(deploy);
    const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'markets', args: [conditionId] });
    return (await this.#options.node.view(deploy.exchange, data, tag)) === tokens;
  }

  /** The token ids as a contract encodes them. */
  #idsOf({ uuid }: Deploy): { readonly conditionId: Hex; readonly tokens: Hex } {
    const { chain } = this.#options;
    const idBytes = hexToBytes(uuid);
    const { conditionId } = marketIds(chain.marketFactory, idBytes);
    const [yes, no] = outcomeTokenIds(chain, idBytes).map(BigInt);
    const tokens = encodeAbiParameters(parseAbiParameters('uint256, uint256'), [yes, no]);
    return { conditionId: conditionId, tokens };
  }

  #fail({ id, failures, is_needed }: Deploy, reason: string): void {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
    this.#options.rows.fail(id, reason, pauseMs, failures >= MOST_RETRIES && is_needed === 0);
  }
}

/** A node that does not have the contract's state answers with no bytes. */
function isTrue(answer: Hex): boolean {
  if (answer.length !== 66) throw new NodeUnreachable('the node does not have the state of the contract');
  return BigInt(answer) === 1n;
}
