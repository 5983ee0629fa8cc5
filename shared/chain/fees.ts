/**
 * Fees of a transaction: enough for two doublings of the base fee at first, and an eighth more in each replacement. The
 * tip is at least the amount that the chain is known to accept, because nodes may suggest less and then drop the
 * transaction.
 */
import type { Attempt } from './envelopeRows.ts';

type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** The tip if a node suggests none, and the least tip that nodes of Polygon and of its test network accept. */
const USUAL_TIP_WEI = 30_000_000_000n;
const LEAST_TIP_WEI: ReadonlyMap<number, bigint> = new Map([
  [137, USUAL_TIP_WEI],
  [80_002, USUAL_TIP_WEI],
]);
export const BASE_FEES = 4n;
/** Texts by which nodes refuse a transaction because of its price. A replacement is compared with its predecessor. */
const TOO_LOW =
  /underpriced|fee ?too ?low|tip ?too ?low|below (?:the )?(?:configured )?minimum|less than (?:the )?minimum/i;
const REPLACES = /replacement/i;
/** Some nodes state the tip that they want. */
const WANTED = /(?:minimum needed|tip needed|minimum(?: gas price| tip)?(?: is|:)?) ?(\d{1,20})/i;

/** The least tip of a chain, as far as it is known from refusals. Owner: one key. */
export class Tips {
  #leastWei: bigint;
  readonly #known: bigint;

  constructor(chainId: number) {
    this.#known = LEAST_TIP_WEI.get(chainId) ?? 0n;
    this.#leastWei = this.#known;
  }

  /** @param suggestedWei the node's suggestion; null if there is none. */
  usual(suggestedWei: bigint | null): bigint {
    return most(suggestedWei ?? USUAL_TIP_WEI, this.#leastWei);
  }

  /**
   * Learns from a refusal: the tip that the node states, or twice the refused one.
   * @returns true if a higher tip may be accepted
   */
  refused(message: string, tipWei: bigint): boolean {
    if (!TOO_LOW.test(message) || REPLACES.test(message)) return false;
    const wanted = BigInt(WANTED.exec(message)?.[1] ?? 0);
    this.#leastWei = most(this.#leastWei, wanted > tipWei ? wanted : 2n * tipWei);
    return true;
  }

  /** Called if a learnt tip cannot be paid: a node's statement does not hold for ever. */
  forget(): void {
    this.#leastWei = this.#known;
  }
}

/** Null: the highest allowed offer is less than needed. */
export function feesFor(
  baseFeeWei: bigint,
  usualTipWei: bigint,
  before: Attempt | null,
  mostFeeWei: bigint,
): Fees | null {
  let tip = usualTipWei;
  if (before !== null) tip = most(tip, raised(BigInt(before.priority_fee_wei)));
  let fee = BASE_FEES * baseFeeWei + tip;
  const least = before === null ? baseFeeWei + tip : most(raised(BigInt(before.max_fee_wei)), baseFeeWei + tip);
  fee = most(fee, least);
  if (fee > mostFeeWei) fee = mostFeeWei;
  return fee < least ? null : { maxFeePerGas: fee, maxPriorityFeePerGas: tip };
}

/** Adds an eighth, rounded up: some nodes refuse replacements that offer less, others ask for a tenth. */
export function raised(wei: bigint): bigint {
  return (wei * 9n + 7n) / 8n;
}

/** The same for a price as a number; null if that is more than may be offered. */
export function raisedUpTo(wei: number, mostWei: number): number | null {
  const more = Number(raised(BigInt(wei)));
  return more > mostWei ? null : more;
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
