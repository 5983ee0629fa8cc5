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

type ChainQuestions = RailQuestions & {
  /** The market is to be deployed, which news of it then report. False: it is decided. */
  readonly deploy: {
    readonly ask: {
      /** Its number. */ readonly market: number /** 0x and 32 hex digits. */;
      readonly marketId: string;
    };
    readonly answer: { readonly isWanted: boolean };
  };
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
  /** The news with this number are carried out, durably. */
  readonly acknowledge: { readonly ask: { readonly news: number }; readonly answer: null };
};
export type ChainQuestion = keyof ChainQuestions;
export type AskOf<N extends ChainQuestion> = ChainQuestions[N]['ask'];
export type AnswerOf<N extends ChainQuestion> = ChainQuestions[N]['answer'];

/** By kind, what the thread has to report; the number and the kind come with it. */
export type ChainNews = {
  /** A deployment has gone on. `final` is the end of one; `failed` comes before another attempt. */
  readonly deployment: {
    readonly marketId: string;
    readonly exchange: string;
    readonly status: 'wanted' | 'submitted' | 'mined' | 'final' | 'failed' | 'given_up';
    /** Attempts that failed so far. */
    readonly failures: number;
    readonly reason: string | null;
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
