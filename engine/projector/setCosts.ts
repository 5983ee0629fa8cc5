/**
 * The costs of a conversion of an event set (RULES.md 19.9). Tokens that come take over the cost of those that go, less
 * the USDC that come with them or with the USDC that go: a conversion by itself makes neither profit nor loss. Only a
 * cost below nothing, or above one USDC a token, is realized at once: no token costs less or more than it can pay. The
 * cost is spread evenly over the markets that come, the gain over those that go.
 *
 * All parts together cost as many USDC as the account paid, so profit and loss add up with the balance.
 */
type Part = {
  /** Positive: the tokens come; negative: they go. */
  readonly atomic: number;
  /** Of tokens that go: their share of the cost of their position. */
  readonly leavingMicro: bigint;
};

/**
 * @param receivedMicro the USDC that the account gets in the conversion; negative: that it gives
 * @returns for each part what is paid for it; negative: what it brings
 */
export function conversionCosts(parts: readonly Part[], receivedMicro: bigint): bigint[] {
  const coming = parts.filter(({ atomic }) => atomic > 0);
  const going = parts.filter(({ atomic }) => atomic <= 0);
  const most = coming.reduce((sum, { atomic }) => sum + BigInt(atomic), 0n);
  const leaving = going.reduce((sum, { leavingMicro }) => sum + leavingMicro, 0n);
  const carried = leaving - receivedMicro;
  // Without tokens that go, the USDC are the cost, whatever it is.
  const cost = going.length === 0 ? carried : carried < 0n ? 0n : carried < most ? carried : most;
  const costs = spread(cost, coming.length);
  const gains = spread(cost - carried, going.length);
  return parts.map(({ atomic, leavingMicro }) => {
    return atomic > 0 ? (costs.next().value ?? 0n) : -leavingMicro - (gains.next().value ?? 0n);
  });
}

/** Even parts that add up to the sum. */
function* spread(sum: bigint, parts: number): Generator<bigint, undefined> {
  let left = sum;
  for (let rest = BigInt(parts); rest > 0n; rest--) {
    const part = left / rest;
    left -= part;
    yield part;
  }
  return undefined;
}
