/**
 * Answers the gateway's questions (shared/wire/chainQuestions.ts), one handler for each. Questions are answered
 * concurrently: one that waits for the node delays no other.
 */
import { decodeErrorResult, type Hex } from 'viem';
import { checkedHex } from '../../shared/base/hex.ts';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { ChainNode } from '../../shared/chain/node.ts';
import type { Relay } from '../../shared/chain/relay.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import type { AnswerOf, AskOf, ChainAsk, ChainQuestion, ChainReply } from '../../shared/wire/chainQuestions.ts';
import type { ChainChecks } from './checks.ts';
import type { Contracts } from './drafts.ts';
import { marketHandlers } from './marketDesk.ts';
import type { MoneyHandlers } from './moneyDesk.ts';
import type { News } from './news.ts';
import type { RefusedTrades } from './refusedTrades.ts';
import type { Settlement } from './settlement.ts';

type DeskSettlement =
  | 'wantMarket'
  | 'wantDecision'
  | 'claimTransaction'
  | 'marketsOnTheirWay'
  | 'rotation'
  | 'decisions';
type DeskOptions = {
  readonly node: ChainNode;
  readonly contracts: Contracts;
  readonly news: News;
  readonly relay: Relay;
  readonly settlement: Pick<Settlement, DeskSettlement>;
  readonly money: MoneyHandlers;
  readonly refused: RefusedTrades;
  readonly checks: Pick<ChainChecks, 'successorProblem'>;
  /** True while another member of the cluster settles. */
  readonly isFollowing?: () => boolean;
};
type Handlers = { readonly [N in ChainQuestion]: (ask: AskOf<N>) => AnswerOf<N> | Promise<AnswerOf<N>> };

/** Questions that only a leader answers: a standby changes, signs and sends nothing. */
const OF_A_LEADER: ReadonlySet<ChainQuestion> = new Set<ChainQuestion>([
  'acknowledge',
  'decide',
  'deploy',
  'depositPermit',
  'moneyAccepted',
  'moneyWaits',
  'prepareRelease',
  'railBroadcast',
  'railEnvelope',
  'releaseTrade',
  'retryTrade',
  'setEscrow',
  'unwindTrade',
]);
const FOLLOWS = 'another member of the cluster settles';

export class Desk {
  readonly #handlers: Handlers;
  readonly #isFollowing: () => boolean;
  readonly #post: (reply: ChainReply) => void;

  constructor(options: DeskOptions, post: (reply: ChainReply) => void) {
    this.#handlers = handlersOf(options);
    this.#isFollowing = options.isFollowing ?? (() => false);
    this.#post = post;
  }

  /**
   * A node that does not answer and a contract that refuses are answers; every other failure is an error of the thread.
   */
  async answer({ id, question, ask }: ChainAsk): Promise<void> {
    if (this.#isFollowing() && OF_A_LEADER.has(question)) {
      this.#post({ id, down: FOLLOWS });
      return;
    }
    const handler = this.#handlers[question] as (ask: unknown) => unknown;
    try {
      this.#post({ id, answer: await handler(ask) });
    } catch (error) {
      if (error instanceof RpcError && error.data !== null) this.#post({ id, refused: errorName(error.data) });
      else if (error instanceof RpcError || error instanceof NodeUnreachable) this.#post({ id, down: error.message });
      else throw error;
    }
  }
}

function handlersOf({ node, contracts, news, relay, refused, settlement, money, checks }: DeskOptions): Handlers {
  return {
    ...relay.handlers,
    ...refused.handlers,
    ...marketHandlers(node, contracts, settlement),
    ...money,
    successorProblem: async ({ next }) => {
      const missing = () =>
        settlement.decisions.areUnderWay ? UNDER_WAY : missingMarkets(settlement.marketsOnTheirWay());
      return { problem: await checks.successorProblem(settlement.rotation.newest, checkedHex(next), missing) };
    },
    acknowledge: ({ news: number }) => {
      news.acknowledge(number);
      return null;
    },
  };
}

/** Anyone may carry a decision out, even while the tokens of its market move. */
const UNDER_WAY =
  'decisions of markets are under way on the chain: wait until they have taken effect, and ask for no others';

/**
 * The factory registers a market only with the contract that it names, so these markets' trades would never settle at
 * the old one.
 */
function missingMarkets(count: number): string | null {
  if (count === 0) return null;
  const markets = count === 1 ? 'a market with trades is' : `${count} markets with trades are`;
  return `${markets} not known to the contract of today yet: name that one in the factory (setExchange) until then`;
}

/** The name of an error of our contracts; the selector of an error that settlement does not know. */
function errorName(data: Hex): string {
  try {
    return decodeErrorResult({ abi: EXCHANGE_ABI, data }).errorName;
  } catch {
    return data.slice(0, 10);
  }
}
