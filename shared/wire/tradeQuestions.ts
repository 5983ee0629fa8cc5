/** Questions about trades that the contract refuses (RULES.md 17.40), and the parts of their answers. */

/** A party of an undone fill gets this, or gives it where it is negative: micro-USDC, Yes and No tokens. */
type UnwindingChange = readonly [micro: number, yes: number, no: number];
export type UnwindingChanges = Readonly<Record<'maker' | 'taker' | 'fee', UnwindingChange>>;
