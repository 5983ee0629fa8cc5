/** Fees of a transaction: enough for two doublings of the base fee at first, and an eighth more in each replacement. */
import type { Attempt } from './envelopeRows.ts';

type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** The tip where a node suggests none: the least that validators of Polygon take. */
const USUAL_TIP_WEI = 30_000_000_000n;
const BASE_FEES = 4n;

/** Null: the most that may be offered is less than what is needed. */
export function feesFor(
  baseFeeWei: bigint,
  suggestedTipWei: bigint | null,
  before: Attempt | null,
  mostFeeWei: bigint,
): Fees | null {
  let tip = suggestedTipWei ?? USUAL_TIP_WEI;
  if (before !== null) tip = most(tip, raised(before.priority_fee_wei));
  let fee = BASE_FEES * baseFeeWei + tip;
  const least = before === null ? baseFeeWei + tip : most(raised(before.max_fee_wei), baseFeeWei + tip);
  fee = most(fee, least);
  if (fee > mostFeeWei) fee = mostFeeWei;
  return fee < least ? null : { maxFeePerGas: fee, maxPriorityFeePerGas: tip };
}

/** An eighth more, rounded up: nodes refuse replacements that offer less. */
function raised(wei: string): bigint {
  return (BigInt(wei) * 9n + 7n) / 8n;
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
