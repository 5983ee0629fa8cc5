/**
 * USDC as its issuer may change it behind its proxy, on a local chain: the address keeps its storage, and has the code
 * of a proxy that answers some calls by itself and passes all others on to the code of before.
 */
import { type Address, concat, encodeDeployData, type Hex, numberToHex, size, toFunctionSelector, toHex } from 'viem';
import { readArtifact } from '../contracts/compile.ts';
import { abiOf, type ChainClient, sendData } from './deploy.ts';

export const UPGRADES = ['compatible', 'fee', 'false', 'version', 'decimals'] as const;
export type Upgrade = (typeof UPGRADES)[number];

const KEPT: Address = `0x${'05dc'.repeat(10)}`;
const OWNER: Address = `0x${'05dd'.repeat(10)}`;
const [TO_FIRST, TO_SECOND] = [4, 36];
const TRANSFER = toFunctionSelector('transfer(address,uint256)');
const TRANSFER_FROM = toFunctionSelector('transferFrom(address,address,uint256)');
const AUTHORIZED = 'address,address,uint256,uint256,uint256,bytes32';
const RECEIVE = [`(${AUTHORIZED},bytes)`, `(${AUTHORIZED},uint8,bytes32,bytes32)`].map((parameters) =>
  toFunctionSelector(`receiveWithAuthorization${parameters}`),
);

const PUSH_ANSWER: Hex = '0x3d5f5f3e';
const RETURN_ANSWER: Hex = '0x3d5ff3';
const word = (value: number): Hex => toHex(value, { size: 32 });
const push2 = (value: number): Hex => concat(['0x61', numberToHex(value, { size: 2 })]);

/** The call goes on to the code of before with this contract's storage; it reverts here if it did there. */
function passedOn(to: Address, at: number): Hex {
  const call = concat(['0x365f5f375f5f365f73', to, '0x5af4', PUSH_ANSWER]);
  // Behind the jump and the revert.
  const end = at + size(call) + 4 + 3;
  return concat([call, push2(end), '0x57', '0x3d5ffd', '0x5b']);
}

/** `value` is moved completely, and a hundredth of it is taken from the receiver (slot 0 has the balances). */
function takesFee(to: Address, at: number, receiver: number): Hex {
  const moved = passedOn(to, at);
  const slotOfReceiver = concat(['0x60', numberToHex(receiver, { size: 1 }), '0x355f525f60205260405f20']);
  const less = concat(['0x606460', numberToHex(receiver + 32, { size: 1 }), '0x3504815403', '0x9055']);
  return concat([moved, slotOfReceiver, less, PUSH_ANSWER, RETURN_ANSWER]);
}

/** The code that answers calls of the selector, from this place on. */
type Answer = { readonly selector: Hex; readonly code: (at: number) => Hex };

/** @param answers the calls that it answers itself; all others are passed on */
function proxy(to: Address, answers: readonly Answer[]): Hex {
  const DISPATCH = 11;
  let at = 6 + answers.length * DISPATCH;
  const rest = concat([passedOn(to, at), RETURN_ANSWER]);
  at += size(rest);
  let dispatch: Hex = '0x5f3560e01c';
  const parts: Hex[] = [];
  for (const { selector, code } of answers) {
    const part = concat(['0x5b', code(at + 1)]);
    dispatch = concat([dispatch, '0x8063', selector, '0x14', push2(at), '0x57']);
    parts.push(part);
    at += size(part);
  }
  return concat([dispatch, '0x50', rest, ...parts]);
}

const answers = (value: number) => (): Hex => concat(['0x7f', word(value), '0x5f5260205ff3']);

/** The same token with another version in the domain of its signatures. */
async function ofVersion3(client: ChainClient): Promise<Address> {
  let { bytecode } = readArtifact('DemoUsdc');
  // "2" as the constructor and `version` have it.
  for (const [before, after] of [
    ['601960f91b', '603360f81b'],
    ['600181527f32', '600181527f33'],
  ] as const) {
    if (bytecode.split(before).length !== 2) throw new Error(`DemoUsdc has ${before} not once`);
    bytecode = bytecode.replace(before, after) as Hex;
  }
  const data = encodeDeployData({ abi: abiOf('DemoUsdc'), bytecode, args: [OWNER] });
  return (await sendData(client, { from: OWNER, data })).contractAddress!;
}

/** Changes the token from its deployed state, whatever it is now; null restores that state. */
export async function upgradeUsdc(client: ChainClient, usdc: Address, upgrade: Upgrade | null): Promise<void> {
  const codeOf = (address: Address) => client.getCode({ address });
  if ((await codeOf(KEPT)) === undefined) await client.setCode({ address: KEPT, bytecode: (await codeOf(usdc))! });
  const feeAt = (receiver: number) => (at: number) => takesFee(KEPT, at, receiver);
  const variants: Readonly<Record<Upgrade, () => Hex | Promise<Hex>>> = {
    /** Other code, and nothing else. */
    compatible: () => proxy(KEPT, []),
    /** Whoever receives gets a hundredth less. */
    fee: () =>
      proxy(KEPT, [
        { selector: TRANSFER, code: feeAt(TO_FIRST) },
        ...[TRANSFER_FROM, ...RECEIVE].map((selector) => ({ selector, code: feeAt(TO_SECOND) })),
      ]),
    /** A transfer moves nothing, and says so instead of reverting. */
    false: () => proxy(KEPT, [{ selector: TRANSFER, code: answers(0) }]),
    /** Signatures for the previous version are no longer accepted. */
    version: async () => proxy(await ofVersion3(client), []),
    decimals: () => proxy(KEPT, [{ selector: toFunctionSelector('decimals()'), code: answers(18) }]),
  };
  const bytecode = upgrade === null ? (await codeOf(KEPT))! : await variants[upgrade]();
  await client.setCode({ address: usdc, bytecode });
}
