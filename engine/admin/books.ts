/** The books of the second accounting (accounting.ts): micro-USDC and atomic tokens, in bigint. */
export type Purse = { available: bigint; reserved: bigint };
export type MarketBooks = {
  readonly ticksPerUnit: bigint;
  collateral: bigint;
  payoutYesPpm: bigint;
  /** Its holders are being paid, some in each record. */
  isSettling: boolean;
  /** Purses by account: Yes at index 0, No at index 1. */
  readonly tokens: Map<number, readonly [Purse, Purse]>;
};
export type OpenOrder = {
  readonly account: number;
  readonly market: number;
  readonly side: number;
  readonly outcome: number;
  readonly limitTicks: bigint;
  readonly feeBps: bigint;
  /** The least it may receive after fees (RULES.md 2.5); 0 for an order that may rest. */
  readonly leastNet: bigint;
  remainingLots: bigint;
  /** Received so far, before fees: tokens of a BUY, USDC of a SELL. */
  received: bigint;
};
