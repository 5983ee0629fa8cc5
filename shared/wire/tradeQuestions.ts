/** The questions of the gateway about trades that the contract refuses for good (RULES.md 17.40 to 17.42). */

/** A party of an undone fill gets these amounts, or gives them if they are negative: micro-USDC, Yes and No tokens. */
type UnwindingChange = readonly [micro: number, yes: number, no: number];
export type UnwindingChanges = Readonly<Record<'maker' | 'taker' | 'fee', UnwindingChange>>;

export type TradePlace = { readonly shard: number; readonly tradeSequence: number };

export type FailedTrade = TradePlace & {
  readonly matchedMs: number;
  readonly market: number;
  readonly maker: number;
  readonly taker: number;
  readonly lots: number;
  readonly yesTicks: number;
  /** The name of the contract's error. */
  readonly reason: string;
  readonly failedMs: number;
};

/** The reason why a trade is neither tried again nor unwound. */
export type TradeRefusal = 'unknown' | 'not failed' | 'not final' | 'orders open' | 'being unwound' | 'unwound';

export type Unwinding = {
  readonly market: number;
  readonly maker: number;
  readonly taker: number;
  readonly changes: UnwindingChanges;
};

export type TradeQuestions = {
  /** The oldest first. */
  readonly failedTrades: {
    readonly ask: { readonly after: number; readonly limit: number };
    readonly answer: {
      readonly trades: readonly FailedTrade[] /** Null: there are no more. */;
      readonly next: number | null;
    };
  };
  /** The trades of a market, as its journal is now: failed trades, and trades that are in no block yet. */
  readonly marketTrades: {
    readonly ask: { readonly market: number };
    readonly answer: { readonly failed: number; readonly open: number };
  };
  readonly mayUnwind: { readonly ask: TradePlace; readonly answer: { readonly refusal: TradeRefusal | null } };
  /** From now on the trade is not tried again, unless the ledger refuses the unwinding and the trade is released. */
  readonly unwindTrade: {
    readonly ask: TradePlace;
    readonly answer: { readonly refusal: TradeRefusal } | { readonly refusal: null; readonly unwinding: Unwinding };
  };
  readonly releaseTrade: { readonly ask: TradePlace; readonly answer: null };
  readonly retryTrade: { readonly ask: TradePlace; readonly answer: { readonly refusal: TradeRefusal | null } };
};
