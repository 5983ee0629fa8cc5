/** The exchange as a client of a chain: batches of trades, signed bytes that can be sent again, a node's answers. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import {
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  parseGwei,
  toEventSelector,
  toFunctionSelector,
  toHex,
} from 'viem';
import { ChainChecks } from '../../engine/settlement/checks.ts';
import { MATCH_TYPE, OUTCOME } from '../../shared/base/codes.ts';
import { type ChainTrade, chainTradeId, encodeBatch } from '../../shared/chain/batch.ts';
import { EXCHANGE_ABI, PAYMENTS_ABI, RESOLUTIONS_ABI } from '../../shared/chain/exchangeAbi.ts';
import { chainKey } from '../../shared/chain/key.ts';
import { ChainNode } from '../../shared/chain/node.ts';
import { HttpRpc, NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import { NO_ANVIL } from './anvil.ts';
import { abiOf, receiptOf, send } from './deploy.ts';
import {
  BUY,
  CHAIN_ID,
  type ChainMarket,
  CONTRACT_OF,
  chainRig,
  eventsOf,
  key,
  ROLES,
  SELL,
  type SignedChainOrder,
  USDC,
} from './rig.ts';

const rig = await chainRig();
const options = { skip: NO_ANVIL };
const TEN = 10_000_000n;

test('what is called and read of the contract is what the contract has', () => {
  const has = new Set(abiOf('Exchange').map((item) => JSON.stringify(selectorsOf(item))));
  for (const item of EXCHANGE_ABI) assert.ok(has.has(JSON.stringify(selectorsOf(item))), item.name);
  const pays = new Set(abiOf('Payments').map((item) => JSON.stringify(selectorsOf(item))));
  const decides = new Set(abiOf('Resolutions').map((item) => JSON.stringify(selectorsOf(item))));
  for (const item of RESOLUTIONS_ABI) assert.ok(decides.has(JSON.stringify(selectorsOf(item))), item.name);
  for (const item of PAYMENTS_ABI) assert.ok(pays.has(JSON.stringify(selectorsOf(item))), item.name);
});

function selectorsOf(
  item: (typeof EXCHANGE_ABI | typeof PAYMENTS_ABI | typeof RESOLUTIONS_ABI)[number] | ReturnType<typeof abiOf>[number],
): unknown {
  if (item.type === 'function') return [item.type, toFunctionSelector(item)];
  if (item.type === 'event') {
    return [item.type, toEventSelector(item), item.inputs.map((input) => 'indexed' in input && input.indexed === true)];
  }
  return item.type === 'error' ? [item.type, item.name, item.inputs.map(({ type }) => type)] : item.type;
}

/** An order of the rig in the terms of the engine. */
function inEngine({ order, signature }: SignedChainOrder, hash: Hex): ChainTrade['maker'] {
  return { hash, order, signature };
}

/** Alice buys four Yes of Bob, and six Yes against six No that Carol buys. */
async function twoTrades({ yes, no }: ChainMarket): Promise<ChainTrade[]> {
  const [alice, bob, carol] = [key(1), key(2), key(3)];
  const taker = inEngine(await rig.order(alice, BUY, yes, TEN, 6_500_000n), '0x01');
  const seller = inEngine(await rig.order(bob, SELL, yes, 4_000_000n, 2_400_000n), '0x02');
  const buyer = inEngine(await rig.order(carol, BUY, no, 6_000_000n, 2_100_000n), '0x03');
  const common = { shard: 3, taker, ticksPerUnit: 100 };
  return [
    {
      ...common,
      tradeSequence: 1,
      maker: seller,
      makerOutcome: OUTCOME.YES,
      matchType: MATCH_TYPE.STANDARD,
      lots: 40_000,
      yesTicks: 60,
    },
    {
      ...common,
      tradeSequence: 2,
      maker: buyer,
      makerOutcome: OUTCOME.NO,
      matchType: MATCH_TYPE.MINT,
      lots: 60_000,
      yesTicks: 65,
    },
  ];
}

test('trades settle by bytes that were signed before, which can be sent again and replaced', options, async () => {
  const market = await rig.createMarket();
  for (const trader of [1, 2, 3]) await rig.fundSets(key(trader), market, TEN);
  for (const trader of [1, 2, 3]) await rig.fund(key(trader), TEN);
  const sender = key(0x5e77);
  await rig.exchange(`0x${'a1'.padStart(40, '0')}`, 'grantRole', [
    await rig.call('exchange', 'OPERATOR_ROLE', []),
    sender.address,
  ]);
  await rig.client.setBalance({ address: sender.address, value: 10n ** 18n });
  const node = new HttpRpc(rig.client.chain.rpcUrls.default.http[0], 5000);
  const nonce = Number(await node.call('eth_getTransactionCount', [sender.address, 'latest']));
  const envelope = {
    chainId: CHAIN_ID,
    to: rig.contracts.exchange,
    data: encodeBatch(toHex(77, { size: 32 }), await twoTrades(market)),
    nonce,
    gas: 2_000_000n,
    maxFeePerGas: parseGwei('50'),
    maxPriorityFeePerGas: parseGwei('1'),
  };
  const signer = chainKey(toHex(0x5e77, { size: 32 }));
  const signed = await signer.sign(envelope);
  assert.deepEqual(await signer.sign(envelope), signed);
  assert.equal(signer.address, sender.address.toLowerCase());
  assert.equal(await node.call('eth_sendRawTransaction', [signed.bytes]), signed.hash);
  const { logs } = await receiptOf(rig.client, signed.hash);
  assert.deepEqual(eventsOf(logs, 'Exchange', 'MatchFailed'), []);
  const ids = eventsOf(logs, 'Exchange', 'MatchSettled').map(({ args }) => args['tradeId']);
  assert.deepEqual(ids, [chainTradeId(3, 1), chainTradeId(3, 2)]);
  assert.equal(await rig.held(key(1), USDC), TEN - 2_400_000n - 3_900_000n);
  assert.equal(await rig.held(key(3), USDC), TEN - 2_100_000n);
  const again = await node.call('eth_sendRawTransaction', [signed.bytes]).catch((error: Error) => error);
  assert.ok(again instanceof RpcError, 'a node refuses a nonce that is used');
});

test('a refusal of the node is not taken for an answer that never came', options, async () => {
  const node = new HttpRpc(rig.client.chain.rpcUrls.default.http[0], 5000);
  await assert.rejects(node.call('eth_nothing', []), RpcError);
  const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'settleBatch', args: [rig.freshHash(), [], []] });
  await assert.rejects(node.call('eth_call', [{ to: rig.contracts.exchange, data }, 'latest']), RpcError);
});

for (const [what, body] of [
  ['nothing', null],
  ['a page of a proxy', '<html>'],
  ['the answer to another question', '{"jsonrpc":"2.0","id":99,"result":"0x1"}'],
  ['no answer', '{}'],
] as const) {
  test(`a node that gives ${what} is unreachable`, async () => {
    const server = createServer((_, response) => {
      if (body !== null) response.end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const node = new HttpRpc(`http://127.0.0.1:${port}`, body === null ? 50 : 5000);
    await assert.rejects(node.call('eth_chainId', []), NodeUnreachable);
    server.closeAllConnections();
    server.close();
  });
}

test('an error of a match can be read with what settlement knows', () => {
  const [abi, error] = [EXCHANGE_ABI, 'TradeAlreadySettled'] as const;
  const data = `${toFunctionSelector(`${error}(uint256)`)}${toHex(5, { size: 32 }).slice(2)}` as const;
  assert.deepEqual(decodeErrorResult({ abi, data }).args, [5n]);
});

test('a chain that is not the one of the settings is named in words, by what is wrong first', options, async () => {
  const { client, contracts } = rig;
  const lower = (address: string): Hex => address.toLowerCase() as Hex;
  const node = new ChainNode(new HttpRpc(client.chain.rpcUrls.default.http[0]));
  const keys = {
    ...{ OPERATOR: lower(ROLES.operator), DEPLOYER: lower(ROLES.deployer), PERMIT: lower(ROLES.permitSigner) },
    ...{ RELAYER: null, PAYER: lower(ROLES.payer), RESOLVER: lower(ROLES.resolver) },
  };
  const setup = {
    ...{ chainId: CHAIN_ID, keys, usdc: lower(contracts.usdc) },
    ...{ marketFactory: lower(contracts.marketFactory), conditionalTokens: lower(contracts.conditionalTokens) },
    ...{ payments: lower(contracts.payments), resolutions: lower(contracts.resolutions), movementFeeMicro: 0 },
  };
  const exchange = lower(contracts.exchange);
  const problem = (changes: Partial<typeof setup>, at = [exchange]): Promise<string | null> =>
    new ChainChecks(node, { ...setup, ...changes }, () => 1).step(at);
  await client.setBalance({ address: ROLES.operator, value: 7n });
  const checks = new ChainChecks(node, setup, () => 1);
  assert.equal(await checks.step([exchange]), null);
  assert.deepEqual(checks.balances[0], { job: 'OPERATOR', address: keys.OPERATOR, wei: 7n });
  assert.equal(await problem({ chainId: 5 }), `the node of RPC_URL has chain ${CHAIN_ID}, and CHAIN_ID is 5`);
  const nowhere = lower(ROLES.feeRecipient);
  assert.equal(await problem({}, [exchange, nowhere]), `EXCHANGE_ADDRESS: no contract of an exchange is at ${nowhere}`);
  const isUsdc = `EXCHANGE_ADDRESS: no contract of an exchange is at ${setup.usdc}`;
  assert.equal(await problem({}, [setup.usdc]), isUsdc);
  assert.match((await problem({ usdc: nowhere }))!, /^USDC_ADDRESS: the contract at EXCHANGE_ADDRESS belongs to 0x/);
  assert.match((await problem({ conditionalTokens: nowhere }))!, /^CTF_ADDRESS: the contract at EXCHANGE_ADDRESS/);
  assert.match((await problem({ marketFactory: nowhere }))!, /^MARKET_FACTORY_ADDRESS: the contract at EXCHANGE_ADD/);
  const notPaying = `PAYMENTS_ADDRESS: ${nowhere} does not have OPERATOR_ROLE of the exchange`;
  assert.equal(await problem({ payments: nowhere }), notPaying);
  const other = lower(contracts.payments);
  assert.equal(await problem({ resolutions: other }), `RESOLUTIONS_ADDRESS: no contract of an exchange is at ${other}`);
  for (const job of ['OPERATOR', 'PAYER', 'DEPLOYER', 'PERMIT'] as const) {
    const found = await problem({ keys: { ...keys, [job]: nowhere } });
    assert.match(found!, new RegExp(`^${job}_KEY: ${nowhere} does not have ${job}_ROLE of the`));
  }
  // A veto takes it away: decisions wait then, and trades go on.
  assert.equal(await problem({ keys: { ...keys, RESOLVER: nowhere } }), null);
  const vetoer = lower(ROLES.vetoer);
  const vetoes = await problem({ keys: { ...keys, RESOLVER: vetoer } });
  assert.match(vetoes!, new RegExp(`^RESOLVER_KEY: ${vetoer} may veto decisions`));
});

/** RULES.md 17.3 */
test('a key with a right that is no part of its job stops settlement, until it is taken from it', options, async () => {
  const { client, contracts } = rig;
  const lower = (address: string): Hex => address.toLowerCase() as Hex;
  const keys = {
    ...{ OPERATOR: lower(ROLES.operator), RESOLVER: lower(ROLES.resolver), DEPLOYER: lower(ROLES.deployer) },
    ...{ PERMIT: lower(ROLES.permitSigner), PAYER: lower(ROLES.payer), RELAYER: lower(ROLES.feeRecipient) },
  };
  const checks = () => {
    const { exchange: _, ...others } = contracts;
    const setup = { chainId: CHAIN_ID, keys, movementFeeMicro: 0, ...others } as const;
    return new ChainChecks(new ChainNode(new HttpRpc(client.chain.rpcUrls.default.http[0])), setup, () => 1);
  };
  const problem = () => checks().step([contracts.exchange]);
  assert.equal(await problem(), null);
  const rights = [
    ['OPERATOR', 'resolutions', 'PROPOSER_ROLE', 'contract of resolutions'],
    ['RESOLVER', 'resolutions', 'DEFAULT_ADMIN_ROLE', 'contract of resolutions'],
    ['RESOLVER', 'exchange', 'OPERATOR_ROLE', 'exchange'],
    ['RELAYER', 'exchange', 'OPERATOR_ROLE', 'exchange'],
    ...(['OPERATOR', 'RESOLVER', 'PAYER', 'DEPLOYER', 'PERMIT', 'RELAYER'] as const).map(
      (job) => [job, 'payments', 'DEFAULT_ADMIN_ROLE', 'contract of payments'] as const,
    ),
    ['PERMIT', 'exchange', 'DEFAULT_ADMIN_ROLE', 'exchange'],
    ['PAYER', 'marketFactory', 'DEFAULT_ADMIN_ROLE', 'market factory'],
  ] as const;
  for (const [job, contract, role, of] of rights) {
    const change = [await rig.call(contract, role, []), keys[job]];
    const as = (name: string) => send(client, ROLES.admin, contracts[contract], CONTRACT_OF[contract], name, change);
    await as('grantRole');
    const words = `${job}_KEY: ${keys[job]} has ${role} of the ${of}, which is not its job: take it from that key`;
    assert.equal(await problem(), words);
    await as('revokeRole');
    assert.equal(await problem(), null);
  }
});
