/** Decodes calls of contracts in memory. viem would hash the signature of every function anew for each call. */
import { type Abi, type DecodeFunctionDataReturnType, decodeAbiParameters, type Hex, toFunctionSelector } from 'viem';

type AbiFunction = Extract<Abi[number], { type: 'function' }>;

const SELECTOR_LENGTH = 10;
const functions = new WeakMap<Abi, ReadonlyMap<string, AbiFunction>>();

/** Returns null if the ABI has no such function, or not with such arguments. */
export function decodedCall<const A extends Abi>(abi: A, data: Hex): DecodeFunctionDataReturnType<A> | null {
  const called = functionsOf(abi).get(data.slice(0, SELECTOR_LENGTH));
  if (called === undefined) return null;
  const { name: functionName, inputs } = called;
  try {
    const args = inputs.length === 0 ? undefined : decodeAbiParameters(inputs, `0x${data.slice(SELECTOR_LENGTH)}`);
    return { functionName, args } as DecodeFunctionDataReturnType<A>;
  } catch {
    return null;
  }
}

function functionsOf(abi: Abi): ReadonlyMap<string, AbiFunction> {
  const known = functions.get(abi);
  if (known !== undefined) return known;
  const all = abi.filter((item) => item.type === 'function').map((item) => [toFunctionSelector(item), item] as const);
  const bySelector = new Map<string, AbiFunction>(all);
  functions.set(abi, bySelector);
  return bySelector;
}
