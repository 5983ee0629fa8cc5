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
  /** The ids of the outcome tokens of a market, as the chain derives them: known before the market is on it. */
  readonly tokenIds: {
    readonly ask: { /** 0x and the 32 hex digits of its UUID. */ readonly marketId: string };
    readonly answer: { readonly conditionId: string; readonly yes: string; readonly no: string };
  };
  /** The news with this number are carried out, durably. */
  readonly acknowledge: { readonly ask: { readonly news: number }; readonly answer: null };
};
export type ChainQuestion = keyof ChainQuestions;
export type AskOf<N extends ChainQuestion> = ChainQuestions[N]['ask'];
export type AnswerOf<N extends ChainQuestion> = ChainQuestions[N]['answer'];

/** By kind, what the thread has to report; the number and the kind come with it. */
export type ChainNews = {
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
