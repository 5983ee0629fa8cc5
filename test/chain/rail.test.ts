/** The rail on a chain (RULES.md 16.20): what every rail does, on a real EVM, and what chains have beyond that. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeFunctionData, type Hex, toHex } from 'viem';
import { EvmRail } from '../../gateway/fiat/evmRail.ts';
import { carriesOut, RailDown, type RelayRail } from '../../gateway/fiat/rail.ts';
import { CONFIRMATIONS } from '../../shared/chain/depth.ts';
import { chainKey } from '../../shared/chain/key.ts';
import { ChainNode } from '../../shared/chain/node.ts';
import { Relay } from '../../shared/chain/relay.ts';
import { HttpRpc, type Rpc, RpcError } from '../../shared/chain/rpc.ts';
import { cancelDigest, type TransferAuthorization, transferDigest } from '../../shared/crypto/eip3009.ts';
import type { RailQuestions } from '../../shared/wire/railQuestions.ts';
import { type RailRig, testRelayRail } from '../support/railConformance.ts';
import { NO_ANVIL } from './anvil.ts';
import { abiOf, send } from './deploy.ts';
import { CHAIN_ID, chainRig, key, ROLES, SIGNS_WITH_THE_DIGEST } from './rig.ts';

const chain = await chainRig();
const options = { skip: NO_ANVIL };
const RELAYER = toHex(0x5e1a, { size: 32 });
const [customer, provider, stranger] = [key(0xc1), key(0xd2), key(0xe3)];
const CUSTOMER = customer.address.toLowerCase();
const PROVIDER = provider.address.toLowerCase();
const FUNDS_MICRO = 1_000_000_000;
const MOST_FEE_WEI = 2_000_000_000_000;
/** Anvil calls a block final once it has this many successors. */
const FINALITY = 64;

type ChainRail = Omit<RailRig<RelayRail>, 'pay'> & { readonly rail: EvmRail; readonly questions: string[] };

/** @param over the node, some of whose answers the test replaces. */
async function chainRail(over: (rpc: Rpc) => Rpc = (rpc) => rpc): Promise<ChainRail> {
  const { client, contracts } = chain;
  const usdc = contracts.usdc.toLowerCase() as Hex;
  const node = new ChainNode(over(new HttpRpc(client.transport['url'] as string)));
  const relayer = chainKey(RELAYER);
  const relay = new Relay({
    node,
    key: relayer,
    chainId: CHAIN_ID,
    usdc,
    mostFeeWei: BigInt(MOST_FEE_WEI),
    searchBlocks: 50,
    nowMs: () => 0,
    headsMs: 0,
  });
  const questions: string[] = [];
  const link = {
    ask<N extends keyof RailQuestions>(name: N, ask: RailQuestions[N]['ask']): Promise<RailQuestions[N]['answer']> {
      questions.push(name);
      return relay.handlers[name](ask);
    },
  };
  const rail = new EvmRail({ link, mayPay: () => true, mostFeeWei: MOST_FEE_WEI });
  await client.setAutomine(true);
  await client.setBalance({ address: relayer.address, value: 10n ** 18n });
  await chain.mint(customer.address, BigInt(FUNDS_MICRO));
  await client.setAutomine(false);
  await rail.head();
  const { timestamp } = await client.getBlock();
  return {
    rail,
    questions,
    from: CUSTOMER,
    to: PROVIDER,
    fundsMicro: FUNDS_MICRO,
    nowSec: () => Number(timestamp),
    sign: async (transfer) => customer.sign({ hash: transferDigest(await rail.domain(), transfer) as Hex }),
    signCancel: async (nonce) => customer.sign({ hash: cancelDigest(await rail.domain(), CUSTOMER, nonce) as Hex }),
    send: async (transfer, signature) => {
      await sendAsStranger('transferWithAuthorization', [...termsOf(transfer), signature]);
    },
    sendCancel: async (nonce, signature) => {
      await sendAsStranger('cancelAuthorization', [CUSTOMER, nonce, signature]);
    },
    mine: async (blocks) => {
      await client.mine({ blocks });
      if (blocks >= FINALITY / 2) await client.mine({ blocks: FINALITY });
    },
  };
}

/** Into the pool. */
async function sendAsStranger(functionName: string, args: readonly unknown[]): Promise<Hex> {
  const { client, contracts } = chain;
  const abi = abiOf('DemoUsdc').filter((each) => !('inputs' in each) || each.inputs.at(-1)?.name !== 's');
  const data = encodeFunctionData({ abi, functionName, args });
  return client.sendTransaction({
    account: stranger.address,
    to: contracts.usdc,
    data,
    gas: 300_000n,
    gasPrice: 0n,
    chain: null,
  });
}

function termsOf({ from, to, valueMicro, validAfterSec, validBeforeSec, nonce }: TransferAuthorization) {
  return [from, to, BigInt(valueMicro), BigInt(validAfterSec), BigInt(validBeforeSec), nonce];
}

if (!NO_ANVIL) testRelayRail('evm', () => chainRail());

type Signed = { readonly transfer: TransferAuthorization; readonly signature: string };

async function signed({ rail, nowSec }: ChainRail, changes: Partial<TransferAuthorization> = {}): Promise<Signed> {
  const terms = { from: CUSTOMER, to: PROVIDER, valueMicro: 1_000_000, validAfterSec: 0 };
  const transfer = { ...terms, validBeforeSec: nowSec() + 3600, nonce: chain.freshHash(), ...changes };
  return { transfer, signature: await customer.sign({ hash: transferDigest(await rail.domain(), transfer) as Hex }) };
}

/** @returns the bytes, which the node has taken. */
async function relay({ rail }: ChainRail, { transfer, signature }: Signed) {
  const [accountNonce, fee] = [await rail.accountNonce(), await rail.fee()];
  const envelope = await rail.envelope({ accountNonce, fee, replaced: null, transfer, signature });
  assert.equal(await rail.broadcast(envelope.signed), 'accepted');
  return { ...envelope, fee };
}

async function asOwner(functionName: string, args: readonly unknown[]): Promise<void> {
  const { client, contracts } = chain;
  await client.setAutomine(true);
  await send(client, ROLES.admin, contracts.usdc, 'DemoUsdc', functionName, args);
  await client.setAutomine(false);
}

test('a wallet that is a contract signs by its own rule (EIP-1271), also in 65 bytes', options, async () => {
  const rig = await chainRail();
  const { rail } = rig;
  const wallet = toHex(0x1271, { size: 20 });
  await chain.client.setCode({ address: wallet, bytecode: SIGNS_WITH_THE_DIGEST });
  await asOwner('mint', [wallet, 5_000_000n]);
  for (const padding of ['', '00'.repeat(33)]) {
    const { transfer, signature: ofKey } = await signed(rig, { from: wallet });
    const signature = transferDigest(await rail.domain(), transfer) + padding;
    assert.equal(await rail.preflight(transfer, ofKey), 'signature');
    assert.equal(await rail.isSignedBy(wallet, toHex(7, { size: 32 }), signature), false);
    assert.equal(await rail.isSignedBy(wallet, signature.slice(0, 66), signature), true);
    assert.equal(await rail.preflight(transfer, signature), null);
    const { txHash } = await relay(rig, { transfer, signature });
    await rig.mine(1);
    assert.ok(carriesOut(await rail.transaction(txHash), transfer));
  }
});

test('the authorization counts, whoever sends it first: the transaction is theirs', options, async () => {
  const rig = await chainRail();
  const own = await signed(rig);
  await rig.send(own.transfer, own.signature);
  const { txHash } = await relay(rig, own);
  await rig.mine(1);
  const found = await rig.rail.authorization(CUSTOMER, own.transfer.nonce);
  assert.ok(found.state === 'used' && found.txHash !== txHash);
  assert.ok(carriesOut(await rig.rail.transaction(found.txHash), own.transfer));
  assert.equal((await rig.rail.transaction(txHash))?.status, 'reverted');
});

test('a reorganisation takes a transfer back, and the same bytes carry it out again', options, async () => {
  const rig = await chainRail();
  const { client } = chain;
  const own = await signed(rig);
  await rig.mine(3);
  const envelope = await relay(rig, own);
  await rig.mine(2);
  assert.equal((await rig.rail.authorization(CUSTOMER, own.transfer.nonce)).state, 'used');
  await client.request({ method: 'anvil_reorg', params: [3, []] } as never);
  assert.deepEqual(await rig.rail.authorization(CUSTOMER, own.transfer.nonce), { state: 'unused' });
  assert.notEqual((await rig.rail.transaction(envelope.txHash))?.status, 'mined');
  assert.equal(await rig.rail.broadcast(envelope.signed), 'accepted');
  await rig.mine(1);
  const found = await rig.rail.authorization(CUSTOMER, own.transfer.nonce);
  assert.ok(found.state === 'used' && found.txHash === envelope.txHash);
});

test('a transaction that is too cheap for its block is replaced by a dearer one', options, async () => {
  const rig = await chainRail();
  const { rail } = rig;
  const own = await signed(rig);
  const { signed: cheap, fee, txHash } = await relay(rig, own);
  await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: BigInt(fee) + 1n });
  await rig.mine(1);
  // The node may keep it or forget it.
  assert.notEqual((await rail.transaction(txHash))?.status, 'mined');
  const terms = { accountNonce: await rail.accountNonce(), replaced: cheap, ...own };
  const dear = await rail.envelope({ ...terms, fee: Math.max(await rail.fee(), rail.bumpedFee(fee)!) });
  assert.equal(await rail.broadcast(dear.signed), 'accepted');
  await rig.mine(1);
  assert.equal((await rail.transaction(dear.txHash))?.status, 'mined');
  await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 0n });
  assert.equal(rail.bumpedFee(MOST_FEE_WEI), null, 'no transaction offers more than the settings allow');
});

test('without money for gas, and with bytes of another key, nothing is sent', options, async () => {
  const rig = await chainRail();
  const { rail } = rig;
  const own = await signed(rig);
  const terms = { accountNonce: 0, fee: 10 ** 9, replaced: null, ...own };
  const envelope = await rail.envelope(terms);
  await chain.client.setBalance({ address: chainKey(RELAYER).address, value: 0n });
  assert.equal(await rail.broadcast(envelope.signed), 'refused');
  const { usdc } = chain.contracts;
  const fields = { chainId: CHAIN_ID, nonce: 0, to: usdc as Hex, data: '0x' as Hex, gas: 100_000n };
  const prices = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n };
  const foreign = await chainKey(toHex(0xbad, { size: 32 })).sign({ ...fields, ...prices });
  assert.equal(await rail.broadcast(foreign.bytes), 'refused');
  assert.equal(await rail.transaction(foreign.hash), null);
});

test('a provider on the black list, a paused token and a zero address get no USDC', options, async () => {
  const rig = await chainRail();
  const { rail } = rig;
  const own = await signed(rig);
  assert.equal(await rail.isReachable(PROVIDER), true);
  assert.equal(await rail.isReachable(toHex(0, { size: 20 })), false);
  assert.equal(await rail.isReachable(chain.contracts.usdc.toLowerCase()), false);
  await asOwner('setBlacklisted', [PROVIDER, true]);
  assert.equal(await rail.isReachable(PROVIDER), false);
  assert.equal(await rail.preflight(own.transfer, own.signature), 'blocked');
  await asOwner('setBlacklisted', [PROVIDER, false]);
  await asOwner('pause', []);
  assert.equal(await rail.preflight(own.transfer, own.signature), 'blocked');
  await asOwner('unpause', []);
  assert.equal(await rail.preflight(own.transfer, own.signature), null);
});

test('USDC that arrives by any transfer counts once it is final', options, async () => {
  const rig = await chainRail();
  await asOwner('mint', [stranger.address, 9_000_000n]);
  const txHash = await sendAsStranger('transfer', [CUSTOMER, 9_000_000n]);
  await rig.mine(CONFIRMATIONS - 1);
  const [transaction] = [await rig.rail.transaction(txHash)];
  assert.deepEqual(transaction?.transfers, [
    { from: stranger.address.toLowerCase(), to: CUSTOMER, valueMicro: 9_000_000, nonce: null },
  ]);
  assert.equal(await rig.rail.creditDeposit(txHash, CUSTOMER), null, 'not final yet');
  await rig.mine(CONFIRMATIONS);
  assert.equal(await rig.rail.creditDeposit(txHash, CUSTOMER), 9_000_000);
  assert.equal(await rig.rail.creditDeposit(txHash, PROVIDER), null, 'the USDC of another wallet');
});

test('the event of a nonce is found however many blocks are after it', options, async () => {
  const rig = await chainRail();
  const own = await signed(rig);
  const { txHash } = await relay(rig, own);
  await rig.mine(1);
  await chain.client.mine({ blocks: 120 });
  const found = await rig.rail.authorization(CUSTOMER, own.transfer.nonce);
  assert.ok(found.state === 'used' && found.txHash === txHash);
});

test('a receipt of a block that the chain does not have is not believed', options, async () => {
  let lie: Record<string, unknown> | null = null;
  const rig = await chainRail((rpc) => ({
    call: async (method, params) => {
      const answer = await rpc.call(method, params);
      return method === 'eth_getTransactionReceipt' && answer !== null ? { ...answer, ...lie } : answer;
    },
  }));
  const { txHash } = await relay(rig, await signed(rig));
  await rig.mine(1);
  lie = { blockHash: toHex(99, { size: 32 }) };
  assert.equal((await rig.rail.transaction(txHash))?.status, 'pending');
  lie = { transactionHash: toHex(99, { size: 32 }) };
  await assert.rejects(rig.rail.transaction(txHash), RailDown);
  lie = null;
  assert.equal((await rig.rail.transaction(txHash))?.status, 'mined');
});

test('a node that is behind a finalized block does not say that a nonce is unused', options, async () => {
  let isBehind = false;
  const rig = await chainRail((rpc) => ({
    call: (method, params) =>
      rpc.call(method, isBehind ? params.map((each) => (each === 'latest' ? '0x1' : each)) : params),
  }));
  const own = await signed(rig);
  await relay(rig, own);
  await rig.mine(CONFIRMATIONS);
  await rig.rail.head();
  isBehind = true;
  await assert.rejects(rig.rail.authorization(CUSTOMER, own.transfer.nonce), RailDown);
  isBehind = false;
  assert.equal((await rig.rail.authorization(CUSTOMER, own.transfer.nonce)).state, 'used');
});

test('a used nonce is found on a node that allows few blocks; a quota is no reason to ask again', options, async () => {
  let isBusy = false;
  let asked = 0;
  const rig = await chainRail((rpc) => ({
    call: async (method, params) => {
      if (method !== 'eth_getLogs') return rpc.call(method, params);
      asked++;
      const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex };
      if (isBusy) throw new RpcError('eth_getLogs: rate limit exceeded');
      if (Number(toBlock) - Number(fromBlock) >= 10) throw new RpcError('eth_getLogs: block range is too wide');
      return rpc.call(method, params);
    },
  }));
  // Another program sends it, so no hash is known here.
  const [early, late] = [await signed(rig), await signed(rig)];
  for (const { transfer, signature } of [early, late]) {
    await rig.send(transfer, signature);
    await rig.mine(100);
  }
  assert.equal((await rig.rail.authorization(CUSTOMER, early.transfer.nonce)).state, 'used');
  assert.ok(asked > 10, `${asked} questions`);
  isBusy = true;
  asked = 0;
  for (let look = 0; look < 5; look++) {
    await assert.rejects(rig.rail.authorization(CUSTOMER, late.transfer.nonce), RailDown);
  }
  assert.equal(asked, 1, 'the node is left alone');
  assert.equal((await rig.rail.authorization(CUSTOMER, early.transfer.nonce)).state, 'used', 'known by its hash');
});

test('a token whose separator is not that of its name is not signed for', options, async () => {
  const domainSeparator = '0x3644e515';
  const rig = chainRail((rpc) => ({
    call: (method, params) => {
      const [{ data } = { data: '' }] = params as [{ data?: string }?];
      return data === domainSeparator ? Promise.resolve(toHex(1, { size: 32 })) : rpc.call(method, params);
    },
  }));
  await assert.rejects(rig, RailDown);
});
