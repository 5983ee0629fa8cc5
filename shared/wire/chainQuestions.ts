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
  /** The market is to be deployed, which news of it then report. False: it is decided. */
  readonly deploy: {
    readonly ask: {
      /** Its number. */ readonly market: number /** 0x and 32 hex digits. */;
      readonly marketId: string;
    };
    readonly answer: { readonly isWanted: boolean };
  };
  /** The market is to be decided so, which news report once the chain has carried it out for good. */
  readonly decide: { readonly ask: DecisionAsk; readonly answer: DecisionAnswer };
  /** The transaction that carries out the claim of a record; null until it is signed. */
  readonly claimTransaction: {
    readonly ask: { readonly shard: number; readonly sequence: number };
    readonly answer: { readonly hash: string | null };
  };
  /** True once the chain has paid the tokens of a wallet in a decided market. */
  readonly isClaimed: {
    readonly ask: { readonly wallet: string; readonly marketId: string };
    readonly answer: { readonly isClaimed: boolean };
  };
  /** The account of what the news `money` report: from now on the ledger has a name for it. */
  readonly moneyAccepted: {
    readonly ask: { readonly event: number; readonly account: number };
    /** The wallet has asked for its exit, perhaps before the account was known. */
    readonly answer: Marked & { readonly isLeaving: boolean };
  };
  /** Why the ledger cannot follow it yet. It is reported again every half minute. */
  readonly moneyWaits: { readonly ask: { readonly event: number; readonly reason: string }; readonly answer: null };
  /** Movements of the chain that the ledger does not have yet, then payments that the chain refuses; oldest first. */
  readonly openMoney: {
    readonly ask: { readonly limit: number; readonly offset: number };
    readonly answer: { readonly rows: readonly OpenMoney[]; readonly total: number };
  };
  /** A withdrawal with this name (the hash of its reference) ends in the unheld escrow of its wallet. */
  readonly prepareRelease: { readonly ask: { readonly reference: string }; readonly answer: Marked };
  /** The payments of the account that no transaction makes yet, of all that the journals have. */
  readonly waitingPayments: { readonly ask: { readonly account: number }; readonly answer: { readonly count: number } };
  /** The wallet under which the chain holds the funds of the account. */
  readonly setEscrow: { readonly ask: { readonly account: number; readonly wallet: string }; readonly answer: null };
  /** A permit for a deposit. Refused where the contract would refuse. */
  readonly depositPermit: { readonly ask: DepositAsk; readonly answer: DepositPermit };
  /** Balances of which ledger and chain differ, at the last blocks that were compared. */
  readonly differences: { readonly ask: null; readonly answer: readonly Difference[] };
  /** Why orders cannot be signed for this contract from now on; null if they can. */
  readonly successorProblem: {
    readonly ask: { readonly next: string };
    readonly answer: { readonly problem: string | null };
  };
  /** True once the contract lets the signer sign orders of the maker, in a block that stays. */
  readonly isDelegate: {
    readonly ask: { readonly maker: string; readonly signer: string };
    readonly answer: { readonly isDelegate: boolean };
  };
  /** The floors under nonces that the contract has announced for these wallets, now. */
  readonly nonceFloors: {
    readonly ask: { readonly wallets: readonly string[] };
    readonly answer: { readonly floors: readonly number[] };
  };
  /** The news with this number are carried out, durably. */
  readonly acknowledge: { readonly ask: { readonly news: number }; readonly answer: null };
};
/** settlement.db is as new as this. It is kept in control.db before the journals have what follows. */
type Marked = { readonly mark: number };
export type ChainQuestion = keyof ChainQuestions;
export type AskOf<N extends ChainQuestion> = ChainQuestions[N]['ask'];
export type AnswerOf<N extends ChainQuestion> = ChainQuestions[N]['answer'];

/** By kind, what the thread has to report; the number and the kind come with it. */
export type ChainNews = {
  /** A wallet has taken a delegate back. */
  readonly delegateEnded: { readonly maker: string; readonly signer: string };
  /** A deployment has gone on. `final` is the end of one; `failed` comes before another attempt. */
  readonly deployment: {
    readonly marketId: string;
    readonly exchange: string;
    readonly status: 'wanted' | 'submitted' | 'mined' | 'final' | 'failed' | 'given_up';
    /** Attempts that failed so far. */
    readonly failures: number;
    readonly reason: string | null;
  };
  /** The chain has moved money that the ledger has to follow: once, by the reference. */
  readonly money: {
    readonly event: number;
    readonly kind: ChainMoneyKind;
    readonly wallet: string;
    readonly amount: string;
    readonly reference: string;
    /** Of sets: the market; null while the ledger has none with their condition. */
    readonly market: number | null;
    /** The fee of a withdrawal that is taken over. */
    readonly feeMicro?: number;
    /** Of what is taken over; `wallet` is the maker's. */
    readonly taken?: TakenOver;
  };
  /** A wallet leaves the exchange, or stays after all. */
  readonly exit: { readonly wallet: string; readonly isLeaving: boolean };
  /** A wallet has raised the floor under its nonces, perhaps in a block that will go. */
  readonly nonceFloor: { readonly wallet: string; readonly floor: number };
  /** A wallet has claimed on the chain itself, in a block that stays: the ledger pays its account as well. */
  readonly claimed: { readonly account: number; readonly market: number };
  /** Settlement has movements of an account and does not know its wallet. */
  readonly walletMissing: { readonly account: number };
  /** The chain has decided a market as it was asked to, in a block that stays: the ledger follows. */
  readonly marketDecided: { readonly market: number; readonly status: number; readonly payoutYesPpm: number };
  /** The decision of a market was vetoed, in a block that stays: it is undecided. */
  readonly decisionVetoed: {
    readonly market: number;
    readonly payoutYesPpm: number;
    /** Of the proposal. */
    readonly number: number;
  };
  /** The contract refuses a trade for good: an administrator has to look at it. */
  readonly tradeFailed: {
    readonly shard: number;
    readonly tradeSequence: number;
    readonly market: number;
    /** The name of the contract's error. */
    readonly reason: string;
  };
};
export type DecisionAsk = {
  /** Its number. */
  readonly market: number;
  /** 0x and 32 hex digits. */
  readonly marketId: string;
  /** Resolved or cancelled: the market becomes that. */
  readonly status: number;
  /** In millionths. */
  readonly payoutYesPpm: number;
};
/** A market that the chain does not know is decided by the ledger at once. */
export type DecisionAnswer = 'wanted' | 'another is wanted' | 'not on the chain';
/**
 * A deposit of USDC, full sets that a wallet has made of its own, or USDC that an exit has taken. Of an exchange that
 * was restored to an earlier time, what it had sent to the chain since: USDC that was paid out, and what has changed
 * balances.
 */
export const CHAIN_MONEY_KINDS = ['deposit', 'sets', 'exit', 'paid', 'taken'] as const;
export type ChainMoneyKind = (typeof CHAIN_MONEY_KINDS)[number];

/** A trade, split or merge that the chain has and no journal: how it has changed the balances of its parties. */
export type TakenOver = {
  /** Of a split or merge the same wallet as the maker's. */
  readonly taker: string;
  readonly market: number;
  /** 0: it is no trade. */
  readonly tradeSequence: number;
  readonly changes: UnwindingChanges;
};

type OpenMoney = {
  readonly kind: ChainMoneyKind | 'payment';
  readonly wallet: string;
  readonly amount: string;
  /** Of the transaction and its log, or of the record of a payment. */
  readonly reference: string;
  /** Null while it is only on its way into the ledger. */
  readonly reason: string | null;
  readonly foundMs: number;
};
export type DepositAsk = {
  /** The contract that takes it. */
  readonly exchange: string;
  readonly wallet: string;
  readonly amountMicro: string;
  /** 0x and 64 hex digits: a permit is used once. */
  readonly nonce: string;
  readonly deadlineSec: number;
};
export type DepositPermit = {
  readonly signature: string;
  /** Of the permit; the nonce of the authorization. */
  readonly digest: string;
  /** The domain of USDC, by its own word. */
  readonly token: {
    readonly name: string;
    readonly version: string;
    readonly chainId: number;
    readonly verifyingContract: string;
  };
  /** Of the transaction that deposits: before and after the 65 bytes that the wallet signs. */
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
/** `refused` is the contract's word, by the name of its error; `down` means that the node gave no answer. */
export type ChainReply =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly refused: string }
  | { readonly id: number; readonly down: string };
