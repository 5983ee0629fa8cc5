/** The condition of a market on the chain, as the market factory derives it from the id of the market. */
import { concatHex, encodeAbiParameters, type Hex, keccak256, parseAbiParameters } from 'viem';

const OUTCOMES = 2n;

/** @param marketId 0x and the 32 hex digits of the market's UUID. */
export function conditionIdOf(marketFactory: Hex, marketId: Hex): Hex {
  const slots = encodeAbiParameters(parseAbiParameters('uint256'), [OUTCOMES]);
  return keccak256(concatHex([marketFactory, keccak256(marketId), slots]));
}
