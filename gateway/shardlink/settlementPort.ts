/**
 * Where the exchange settles: in its own ledger or on a chain. The start chooses one of the two
 * (gateway/wiring/settlementSide.ts); all other code asks this port, and does not know which one it is.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   SETTLEMENTPORT-1  The ledger answers every question that requests and operators lead to, as a chain would that has
 *                     already done everything. A question that only a chain can be asked is answered with ChainDown.
 */
import type { ErrorRow } from '../../shared/base/errors.ts';
import { entryHash } from '../../shared/crypto/entryHash.ts';
import type { AnswerOf, AskOf, ChainQuestion } from '../../shared/wire/chainQuestions.ts';
import type { SettlementHealth } from '../../shared/wire/threads.ts';
import type { Refusal } from '../base/refusal.ts';
import { ChainDown, type ChainLink } from './settlementLink.ts';

/** The amounts that one account may move to and from the place of settlement. */
export type MovementBounds = {
  /** Of the next movement, in micro-USDC. Null if movements never have a fee: then no answer names one. */
  readonly feeMicro: number | null;
  /** The bounds as clients see them. */
  readonly shown: object;
  /** Counts a movement, or refuses it. @param wholeMicro everything that the account could move, without the fee */
  take(account: number, field: string, amountMicro: number, wholeMicro: number): Refusal | null;
  /** As `take`, for a split or merge. */
  takeSets(account: number, field: string, amountMicro: number, wholeMicro: number): Refusal | null;
  /** The movement was refused elsewhere, so it does not count. */
  giveBack(account: number, amountMicro: number): void;
};

export type SettlementStanding = {
  /** True if a thread settles and reports, so that its metrics are shown. */
  readonly isReported: boolean;
  /** The last report; null if there is none. */
  readonly latest: SettlementHealth | null;
  /** The error with which placing is refused, and why; both null while settlement is healthy. */
  readonly refusal: ErrorRow | null;
  readonly unhealthy: string | null;
  readonly isConnected: boolean;
  /** The jobs whose keys have less money for gas than they should. */
  readonly lowKeys: readonly string[];
};

export type SettlementPort = Pick<ChainLink, 'ask'> & {
  /**
   * True if the funds are held there, those of an account in the escrow of its first wallet: wallets deposit and
   * withdraw themselves, an administrator credits nothing, and a withdrawal is paid after the ledger has it.
   */
  readonly holdsFunds: boolean;
  /** True if a market is deployed there, with contracts that it keeps. */
  readonly deploysMarkets: boolean;
  /** True if a market is decided there first, and the ledger follows. */
  readonly decidesMarkets: boolean;
  readonly bounds: MovementBounds;
  readonly standing: SettlementStanding;
};

type Answers = { readonly [N in ChainQuestion]?: (ask: AskOf<N>) => AnswerOf<N> };

/** SETTLEMENTPORT-1 */
const ANSWERS: Answers = {
  claimTransaction: ({ marketId, sequence }) => ({ hash: entryHash(marketId, sequence) }),
  isClaimed: () => ({ isClaimed: true }),
  isDelegate: () => ({ isDelegate: true }),
  successorProblem: () => ({ problem: null }),
  marketTrades: () => ({ failed: 0, open: 0 }),
  decide: () => 'not on the chain',
  failedTrades: () => ({ trades: [], next: null }),
  retryTrade: () => ({ refusal: 'unknown' }),
  mayUnwind: () => ({ refusal: 'unknown' }),
  unwindTrade: () => ({ refusal: 'unknown' }),
  openMoney: () => ({ rows: [], total: 0 }),
  // No wallet is a contract.
  railSigned: () => false,
};

async function answer<N extends ChainQuestion>(question: N, ask: AskOf<N>): Promise<AnswerOf<N>> {
  const found = ANSWERS[question];
  if (found === undefined) throw new ChainDown('there is no chain');
  return found(ask);
}

export const LEDGER_SETTLEMENT: SettlementPort = {
  ask: answer,
  holdsFunds: false,
  deploysMarkets: false,
  decidesMarkets: false,
  bounds: {
    feeMicro: null,
    shown: {},
    take: () => null,
    takeSets: () => null,
    giveBack: () => {},
  },
  standing: { isReported: false, latest: null, refusal: null, unhealthy: null, isConnected: true, lowKeys: [] },
};

/** The port of a chain. */
export function chainSettlement(
  link: Pick<ChainLink, 'ask'>,
  bounds: MovementBounds,
  standing: SettlementStanding,
): SettlementPort {
  return {
    ask: (question, ask, withinMs) => link.ask(question, ask, withinMs),
    holdsFunds: true,
    deploysMarkets: true,
    decidesMarkets: true,
    bounds,
    standing,
  };
}
