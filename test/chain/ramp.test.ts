/** The sandbox provider on a chain (RULES.md 16.78): cash end to end, with kills and blocks that are taken back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeFunctionData, type Hex, parseEther, toHex } from 'viem';
import { ChainRail } from '../../gateway/programs/ramp/chainRail.ts';
import { HttpRpc } from '../../shared/chain/rpc.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { RampProcess } from '../support/rampProcess.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { makeTrader, type Trader } from '../support/traders.ts';
import { NO_ANVIL } from './anvil.ts';
import { abiOf } from './deploy.ts';
import { chainSettings } from './exchange.ts';
import { CHAIN_ID, ChainRig } from './rig.ts';

const options = { skip: NO_ANVIL };
const [RAMP_KEY, CUSTOMER_KEY] = [`0x${'a7'.repeat(32)}`, `0x${'a8'.repeat(32)}`];
const [RAMP, CUSTOMER] = [addressOf(RAMP_KEY) as Hex, addressOf(CUSTOMER_KEY) as Hex];
const USDC = 1_000_000;
const STRANGER = toHex(0x57a9, { size: 20 });

type World = {
  readonly chain: ChainRig;
  readonly ramp: RampProcess;
  readonly server: TestServer;
  readonly settings: Record<string, string>;
  /** Made anew after a start of the exchange, which changes its port. */
  customer: Trader;
};

const chain = await startChain();
const world = await startWorld();

async function startChain(): Promise<ChainRig> {
  if (NO_ANVIL) return null as unknown as ChainRig;
  const started = await ChainRig.start(1);
  fileScope.after(() => started.stop());
  for (const wallet of [RAMP, CUSTOMER]) await started.mint(wallet, BigInt(1000 * USDC));
  await started.client.setBalance({ address: RAMP, value: parseEther('10') });
  return started;
}

async function startWorld(): Promise<World> {
  if (NO_ANVIL) return null as unknown as World;
  const onChain = await chainSettings(chain);
  const ramp = await RampProcess.on(fileScope, RAMP_KEY);
  const settings = { ...onChain, ...ramp.environment, SHARDS: '1' };
  const server = await startServer(fileScope, settings);
  const { RPC_URL, USDC_ADDRESS } = onChain as { RPC_URL: string; USDC_ADDRESS: string };
  await ramp.start(server.baseUrl, { RPC_URL, USDC_ADDRESS, CHAIN_ID: String(CHAIN_ID) });
  const customer = await makeTrader(server, { privateKey: CUSTOMER_KEY, depositMicro: 0, requestsPerSecond: 1000 });
  await chain.client.setAutomine(false);
  return { chain, ramp, server, settings, customer };
}

/** Both end at once and start again. */
async function killBoth(): Promise<void> {
  await world.ramp.kill();
  await world.server.kill();
  await world.server.start(world.settings);
  await world.ramp.start(world.server.baseUrl);
  world.customer = world.customer.reconnected();
}

const count = (address: Hex, blockTag: 'latest' | 'pending') => chain.client.getTransactionCount({ address, blockTag });
const usdcOf = async (wallet: Hex): Promise<number> => Number(await chain.walletUsdc(wallet)) / USDC;
const reorg = (depth: number) => chain.client.request({ method: 'anvil_reorg', params: [depth, []] } as never);

/** The key has sent a transaction that is in no block yet. */
async function sends(address: Hex): Promise<void> {
  await eventually(`a transaction of ${address}`, async () => {
    return (await count(address, 'pending')) > (await count(address, 'latest'));
  });
}

async function confirm(): Promise<void> {
  await chain.client.mine({ blocks: 40 });
}

async function begin(kind: 'createOnramp' | 'createOfframp', amount: string): Promise<string> {
  const session = await eventually('a session is begun', () => world.customer.client.fiat[kind]());
  const { launch_url } = session;
  const agreed = await world.ramp.control('POST', 'customer', { launch_url, amount });
  assert.equal(agreed['status'], 'created', JSON.stringify(agreed));
  return session.id;
}

async function until(id: string, state: string): Promise<void> {
  let shown = '';
  await eventually(
    () => `${state}; it is ${shown}`,
    async () => {
      const { session } = await world.server.admin.fiatSession(id);
      shown = JSON.stringify(session);
      return (session.transfer_state ?? session.status) === state;
    },
  );
}

async function sign(id: string): Promise<void> {
  await until(id, 'waiting_for_wallet');
  await eventually('the wallet signs', async () => {
    const { typed_data } = await world.customer.client.fiat.transfer(id);
    return typed_data !== null && world.customer.client.fiat.signAndAuthorize(id, CUSTOMER_KEY);
  });
}

test('a person cashes in: the transfer survives kills, and a block that is taken back', options, async () => {
  const id = await begin('createOnramp', '25');
  await sends(RAMP);
  await killBoth();
  await chain.client.mine({ blocks: 3 });
  assert.equal(await usdcOf(CUSTOMER), 1025);
  await reorg(3);
  await sends(RAMP);
  await killBoth();
  await sends(RAMP);
  await chain.client.mine({ blocks: 1 });
  await confirm();
  await until(id, 'completed');
  assert.deepEqual([await usdcOf(CUSTOMER), await usdcOf(RAMP)], [1025, 975], 'it has arrived once');
  const books = await eventually('the provider has sold', async () => {
    const shown = await world.ramp.control('GET', 'books');
    return shown['promised_micro'] === 0 && shown;
  });
  const { usdc_micro, promised_micro, taken_micro, given_back_micro } = books;
  assert.deepEqual([usdc_micro, promised_micro, taken_micro, given_back_micro], [975 * USDC, 0, 25 * USDC, 0]);
});

test('a person cashes out: the bank is paid once, after kills and a block that is taken back', options, async () => {
  const id = await begin('createOfframp', '10.5');
  await sign(id);
  await until(id, 'submitted_on_chain');
  await chain.client.mine({ blocks: 3 });
  assert.equal(await usdcOf(RAMP), 985.5);
  await killBoth();
  await reorg(3);
  assert.equal(await usdcOf(RAMP), 975);
  await eventually('the transfer is in the pool again', async () => {
    return (await chain.client.getTxpoolStatus()).pending > 0;
  });
  await chain.client.mine({ blocks: 1 });
  await confirm();
  await until(id, 'complete');
  assert.deepEqual([await usdcOf(CUSTOMER), await usdcOf(RAMP)], [1014.5, 985.5]);
  assert.equal((await world.ramp.control('GET', 'books'))['paid_out_micro'], 10.5 * USDC);
});

test(
  'what the provider may not keep goes back: a sale that fails, and USDC that pays for nothing',
  options,
  async () => {
    await world.ramp.control('PUT', 'switches', { payoutsFail: true });
    const id = await begin('createOfframp', '7');
    await sign(id);
    await until(id, 'submitted_on_chain');
    const args = [RAMP, BigInt(3 * USDC)];
    const data = encodeFunctionData({ abi: abiOf('DemoUsdc'), functionName: 'transfer', args });
    const call = { account: CUSTOMER, to: chain.contracts.usdc, data, gas: 300_000n, gasPrice: 0n, chain: null };
    await chain.client.sendTransaction(call);
    await chain.client.mine({ blocks: 1 });
    await confirm();
    const before = await count(RAMP, 'latest');
    await eventually('both are sent back at once', async () => (await count(RAMP, 'pending')) >= before + 2);
    await world.ramp.kill();
    await chain.client.mine({ blocks: 1 });
    await confirm();
    await world.ramp.start(world.server.baseUrl);
    await eventually('the session has ended', async () => {
      const { session } = await world.server.admin.fiatSession(id);
      return session.status === 'failed' && session.failure_code === 'provider_refunded';
    });
    assert.deepEqual([await usdcOf(CUSTOMER), await usdcOf(RAMP)], [1014.5, 985.5]);
    assert.equal((await world.ramp.control('GET', 'books'))['paid_out_micro'], 10.5 * USDC);
    await world.ramp.control('PUT', 'switches', { payoutsFail: false });
  },
);

/** The rail alone, whose clock the test moves. */
function openRail() {
  const clock = { ms: Date.now() };
  const rpc = new HttpRpc(chain.client.chain.rpcUrls.default.http[0]);
  const usdc = chain.contracts.usdc.toLowerCase() as Hex;
  const terms = { chainId: CHAIN_ID, usdc, privateKey: RAMP_KEY, mostFeeWei: 10n ** 12n };
  const rail = new ChainRail({ rpc, ...terms, nowMs: () => clock.ms });
  const made = async (valueMicro: number) => {
    const { timestamp } = await chain.client.getBlock();
    const nonce = toHex(chain.fresh() + 0x1000, { size: 32 });
    const transfer = { to: STRANGER, valueMicro, validBeforeSec: Number(timestamp) + 10_000, nonce };
    return { transfer, signature: await rail.sign(transfer) };
  };
  return { rail, clock, made };
}

test(
  'transfers take the places of those that are not sent any more, and dearer ones of those that wait',
  options,
  async () => {
    await world.ramp.kill();
    const { rail, clock, made } = openRail();
    const [first, second] = [await made(1), await made(2)];
    const base = await count(RAMP, 'latest');
    for (const { transfer, signature } of [first, second]) assert.equal(await rail.send(transfer, signature), true);
    assert.equal(await count(RAMP, 'pending'), base + 2);
    await chain.client.request({ method: 'anvil_dropAllTransactions' } as never);
    // The first one is no longer requested.
    clock.ms += 31_000;
    assert.equal(await rail.send(second.transfer, second.signature), true);
    assert.equal(await count(RAMP, 'pending'), base + 1, 'in the place of the first');
    const before = await feeOf();
    for (let waits = 0; waits < 4; waits++) {
      clock.ms += 20_000;
      assert.equal(await rail.send(second.transfer, second.signature), true);
    }
    const raised = await feeOf();
    assert.ok(raised > before, `${raised} is more than ${before}`);
    await chain.client.mine({ blocks: 1 });
    assert.equal((await rail.stateOf(second.transfer.nonce)).state, 'used');
    assert.equal((await rail.stateOf(first.transfer.nonce)).state, 'unused');
    const carriedOut = await count(RAMP, 'latest');
    await rail.send(second.transfer, second.signature);
    assert.equal(await count(RAMP, 'pending'), carriedOut, 'the token takes it once, so nothing more is sent');
  },
);

async function feeOf(): Promise<bigint> {
  const { pending } = await chain.client.getTxpoolContent();
  const all = Object.entries(pending).filter(([sender]) => sender.toLowerCase() === RAMP.toLowerCase());
  const [transaction] = all.flatMap(([, ofSender]) => Object.values(ofSender)) as { maxFeePerGas: Hex }[];
  return BigInt(transaction!.maxFeePerGas);
}

test(
  'arrivals are read from the moment of the first start, each once, and none before it is final',
  options,
  async () => {
    const { rail } = openRail();
    await confirm();
    const { cursor } = await rail.arrivals('');
    assert.deepEqual(await rail.arrivals(cursor), { arrivals: [], cursor });
    // New USDC is a top-up by the operator: it has no sender to whom it could go back.
    await chain.client.setAutomine(true);
    await chain.mint(RAMP, 1n);
    await chain.client.setAutomine(false);
    const args = [RAMP, 5n];
    const data = encodeFunctionData({ abi: abiOf('DemoUsdc'), functionName: 'transfer', args });
    const call = { account: CUSTOMER, to: chain.contracts.usdc, data, gas: 300_000n, gasPrice: 0n, chain: null };
    const txHash = await chain.client.sendTransaction(call);
    await chain.client.mine({ blocks: 1 });
    await chain.client.mine({ blocks: 2 });
    const early = await freshArrivals(cursor);
    assert.deepEqual(
      early.arrivals.map((each) => each.txHash),
      [txHash],
    );
    assert.ok(Number(early.cursor) < early.arrivals[0]!.block, 'its block may be taken back');
    await confirm();
    const late = await freshArrivals(cursor);
    assert.deepEqual(
      late.arrivals.map(({ from, valueMicro }) => [from, valueMicro]),
      [[CUSTOMER.toLowerCase(), 5]],
    );
    assert.ok(Number(late.cursor) >= late.arrivals[0]!.block);
    assert.deepEqual((await freshArrivals(late.cursor)).arrivals, []);
  },
);

/** Arrivals as seen by a process that has just started. */
function freshArrivals(cursor: string) {
  return openRail().rail.arrivals(cursor);
}
