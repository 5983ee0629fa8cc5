/** The books of the second accounting (accounting.ts): micro-USDC and atomic tokens, in bigint. */
export type Purse = { available: bigint; reserved: bigint };
export type MarketBooks = {
  readonly ticksPerUnit: bigint;
  collateral: bigint;
  payoutYesPpm: bigint;
  /** Its holders are being paid, some in each record. */
  isSettling: boolean;
  /** Null for a market outside of event sets. */
  readonly set: SetBooks | null;
  isDecided: boolean;
  isSettled: boolean;
  /** Purses by account: Yes at index 0, No at index 1. */
  readonly tokens: Map<number, readonly [Purse, Purse]>;
};
/** An event set: its markets by ordinal, and its USDC beyond the collateral of these. */
export type SetBooks = { readonly markets: number[]; excess: bigint };
/** The books of a shard, as the commands for event sets need them. */
export type Books = {
  market(index: number): MarketBooks;
  tokens(account: number, market: number, outcome: number): Purse;
  purse(account: number): Purse;
  feesMicro: bigint;
  feesAtomic: bigint;
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

export function purseOf(available: number, reserved: number): Purse {
  return { available: BigInt(available), reserved: BigInt(reserved) };
}
