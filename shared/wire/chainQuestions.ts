/**
 * The questions of the gateway to the settlement thread with their answers, and the news of that thread, declared once.
 * They are plain data, and amounts are decimal texts.
 *
 * Invariants:
 *   NEWS-1  News are rows of settlement.db until the gateway has acknowledged them, and are repeated until then: each
 *           is delivered at least once, whichever side ends in between. A repeat has the same number, and carrying it
 *           out again changes nothing.
 *   NEWS-2  News of one kind come in the order of their numbers.
 */
import type { RailQuestions } from './railQuestions.ts';
import type { TradeQuestions, UnwindingChanges } from './tradeQuestions.ts';

type OtherQuestions = RailQuestions & TradeQuestions;
type ChainQuestions = OtherQuestions & {
  /** Asks for the deployment of the market, which news then report. False: the market is decided. */
  readonly deploy: {
    readonly ask: {
      /** The number of the market. */ readonly market: number /** 0x and 32 hex digits. */;
      readonly marketId: string;
    };
    readonly answer: { readonly isWanted: boolean };
  };
  /** Asks for this decision of the market; news report it once the chain has finally carried it out. */
  readonly decide: { readonly ask: DecisionAsk; readonly answer: DecisionAnswer };
  /** The transaction that carries out the claim of a record; null until it is signed. */
  readonly claimTransaction: {
    readonly ask: { readonly marketId: string; readonly shard: number; readonly sequence: number };
    readonly answer: { readonly hash: string | null };
  };
  /** True once the chain has paid a wallet's tokens of a decided market. */
  readonly isClaimed: {
    readonly ask: { readonly wallet: string; readonly marketId: string };
    readonly answer: { readonly isClaimed: boolean };
  };
  /** Names the account of the money in `money` news: from now on the ledger has a name for it. */
  readonly moneyAccepted: {
    readonly ask: { readonly event: number; readonly account: number };
    /** True if the wallet has requested its exit, perhaps before the account was known. */
    readonly answer: Marked & { readonly isLeaving: boolean };
  };
  /** The reason why the ledger cannot follow yet. The news are reported again every half minute. */
  readonly moneyWaits: { readonly ask: { readonly event: number; readonly reason: string }; readonly answer: null };
  /** Movements on the chain that the ledger does not have yet, then payments that the chain refuses; oldest first. */
  readonly openMoney: {
    readonly ask: { readonly limit: number; readonly offset: number };
    readonly answer: { readonly rows: readonly OpenMoney[]; readonly total: number };
  };
  /** Says that the withdrawal with this name (the hash of its reference) goes to the unheld escrow of its wallet. */
  readonly prepareRelease: { readonly ask: { readonly reference: string }; readonly answer: Marked };
  /** The account's payments in the journals that no transaction makes yet. */
  readonly waitingPayments: { readonly ask: { readonly account: number }; readonly answer: { readonly count: number } };
  /** The wallet under which the chain holds the funds of the account. */
  readonly setEscrow: { readonly ask: { readonly account: number; readonly wallet: string }; readonly answer: null };
  /** A permit for a deposit. Refused if the contract would refuse the deposit. */
  readonly depositPermit: { readonly ask: DepositAsk; readonly answer: DepositPermit };
  /** Balances that differ between ledger and chain, at the last compared blocks. */
  readonly differences: { readonly ask: null; readonly answer: readonly Difference[] };
  /** The reason why orders cannot be signed for this contract from now on; null if they can. */
  readonly successorProblem: {
    readonly ask: { readonly next: string };
    readonly answer: { readonly problem: string | null };
  };
  /** True once the contract lets the signer sign orders of the maker, in a final block. */
  readonly isDelegate: {
    readonly ask: { readonly maker: string; readonly signer: string };
    readonly answer: { readonly isDelegate: boolean };
  };
  /** The nonce floors that the contract has announced for these wallets so far. */
  readonly nonceFloors: {
    readonly ask: { readonly wallets: readonly string[] };
    readonly answer: { readonly floors: readonly number[] };
  };
  /** The news with this number have been carried out durably. */
  readonly acknowledge: { readonly ask: { readonly news: number }; readonly answer: null };
};
/** The age mark of settlement.db: control.db stores this before the journals have anything that depends on it. */
type Marked = { readonly mark: number };
export type ChainQuestion = keyof ChainQuestions;
export type AskOf<N extends ChainQuestion> = ChainQuestions[N]['ask'];
export type AnswerOf<N extends ChainQuestion> = ChainQuestions[N]['answer'];

/** The news of the thread by kind; the number and the kind come with each. */
export type ChainNews = {
  /** A wallet has removed a delegate. */
  readonly delegateEnded: { readonly maker: string; readonly signer: string };
  /** A deployment has advanced. `final` is its end; `failed` precedes another attempt. */
  readonly deployment: {
    readonly marketId: string;
    readonly exchange: string;
    readonly status: 'wanted' | 'submitted' | 'mined' | 'final' | 'failed' | 'given_up';
    /** The number of failed attempts so far. */
    readonly failures: number;
    readonly reason: string | null;
  };
  /** The chain has moved money, and the ledger has to follow: once for each reference. */
  readonly money: {
    readonly event: number;
    readonly kind: ChainMoneyKind;
    readonly wallet: string;
    readonly amount: string;
    readonly reference: string;
    /** For sets: the market; null while the ledger has no market with their condition. */
    readonly market: number | null;
    /** The fee of a withdrawal that is taken over. */
    readonly feeMicro?: number;
    /** For an operation that is taken over; `wallet` is the maker's. */
    readonly taken?: TakenOver;
  };
  /** A wallet leaves the exchange, or has cancelled its exit. */
  readonly exit: { readonly wallet: string; readonly isLeaving: boolean };
  /** A wallet has raised its nonce floor, perhaps in a block that will be reverted. */
  readonly nonceFloor: { readonly wallet: string; readonly floor: number };
  /** A wallet has claimed on the chain itself, in a final block: the ledger pays its account as well. */
  readonly claimed: { readonly account: number; readonly market: number };
  /** Settlement has movements of an account whose wallet it does not know. */
  readonly walletMissing: { readonly account: number };
  /** The chain has decided a market as requested, in a final block: the ledger follows. */
  readonly marketDecided: { readonly market: number; readonly status: number; readonly payoutYesPpm: number };
  /** The decision of a market was vetoed, in a final block: the market is undecided. */
  readonly decisionVetoed: {
    readonly market: number;
    readonly payoutYesPpm: number;
    /** The number of the proposal. */
    readonly number: number;
  };
  /** The contract refuses a trade for good: an administrator has to decide about it. */
  readonly tradeFailed: {
    readonly shard: number;
    readonly tradeSequence: number;
    readonly market: number;
    /** The name of the contract's error. */
    readonly reason: string;
  };
};
export type DecisionAsk = {
  /** The number of the market. */
  readonly market: number;
  /** 0x and 32 hex digits. */
  readonly marketId: string;
  /** Resolved or cancelled: the market's new status. */
  readonly status: number;
  /** In millionths. */
  readonly payoutYesPpm: number;
};
/** If the chain does not know a market, the ledger decides it at once. */
export type DecisionAnswer = 'wanted' | 'another is wanted' | 'not on the chain';
/**
 * A deposit of USDC, full sets that a wallet has made itself, or USDC that an exit has taken. For an exchange that was
 * restored to an earlier time also operations that it had sent to the chain since: USDC that was paid out, and changes
 * of balances.
 */
export const CHAIN_MONEY_KINDS = ['deposit', 'sets', 'exit', 'paid', 'taken'] as const;
export type ChainMoneyKind = (typeof CHAIN_MONEY_KINDS)[number];

/** A trade, split or merge that the chain has but no journal: its changes of the parties' balances. */
export type TakenOver = {
  /** For a split or merge the same wallet as the maker's. */
  readonly taker: string;
  readonly market: number;
  /** 0 unless it is a trade. */
  readonly tradeSequence: number;
  readonly changes: UnwindingChanges;
};

type OpenMoney = {
  readonly kind: ChainMoneyKind | 'payment';
  readonly wallet: string;
  readonly amount: string;
  /** The reference of the transaction and its log entry, or of the record of a payment. */
  readonly reference: string;
  /** Null while it is only on its way into the ledger. */
  readonly reason: string | null;
  readonly foundMs: number;
};
export type DepositAsk = {
  /** The contract that accepts the permit. */
  readonly exchange: string;
  readonly wallet: string;
  readonly amountMicro: string;
  /** 0x and 64 hex digits: a permit is used once. */
  readonly nonce: string;
  readonly deadlineSec: number;
};
export type DepositPermit = {
  readonly signature: string;
  /** The digest of the permit, which is the nonce of the authorization. */
  readonly digest: string;
  /** The domain of USDC, as the token itself states it. */
  readonly token: {
    readonly name: string;
    readonly version: string;
    readonly chainId: number;
    readonly verifyingContract: string;
  };
  /** The data of the deposit's transaction: before and after the 65 bytes that the wallet signs. */
  readonly data: { readonly before: string; readonly after: string };
};
export type Difference = {
  /** Null: all accounts together. */
  readonly account: number | null;
  /** Null: USDC. */
  readonly token: { readonly market: number; readonly outcome: number } | null;
  readonly ledger: string;
  readonly underWay: string;
  readonly held: string;
};
export type NewsKind = keyof ChainNews;
export type NewsOf<K extends NewsKind = NewsKind> = {
  [Kind in K]: { readonly number: number; readonly kind: Kind; readonly facts: ChainNews[Kind] };
}[K];

/** From the gateway; the text `stop` ends the thread. */
export type ChainAsk = { readonly id: number; readonly question: ChainQuestion; readonly ask: unknown };
/** `refused` has the name of the contract's error; `down` means that the node gave no answer. */
export type ChainReply =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly refused: string }
  | { readonly id: number; readonly down: string };
