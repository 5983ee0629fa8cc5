/**
 * Both official clients of Polymarket with money of their own: the account is there, and its owner has made the program
 * a delegate. `npm run test:chain` plays it on a real EVM, where the states of a trade follow its settlement and its
 * transaction is one of the chain.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createWalletClient, custom } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { polygon } from 'viem/chains';
import { isOnChain } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { PolymarketBot, PolymarketSocket } from '../support/polymarketBot.ts';
import { NO_PEERS, startFacade } from '../support/polymarketRig.ts';
import { type Json, sharedServer } from '../support/server.ts';
import { delegateOnChain, makeMarket, makeTrader } from '../support/traders.ts';
import { clientAt, postOrder } from './clients.ts';

const server = await sharedServer();
const facade = await startFacade({ after }, server, { isPlay: false, hasFaults: false });
const DEPOSIT_MICRO = 1_000_000_000;

for (const version of [1, 2] as const) {
  test(`an owner's bot with client ${version} trades with the money of the account`, { skip: NO_PEERS }, async () => {
    const privateKey = generatePrivateKey();
    const account = privateKeyToAccount(privateKey);
    const transport = custom({ request: async () => assert.fail() });
    const signer = createWalletClient({ account, chain: polygon, transport });
    const wallet = await clientAt(facade.host, version, { signer });
    const refusal = async (): Promise<string> =>
      (await new PolymarketBot(facade.host, privateKey).attest('POST', '/auth/api-key')).body.error;
    assert.match(await refusal(), /no account/);
    const owner = await makeTrader(server, { privateKey, depositMicro: DEPOSIT_MICRO });
    const [, delegate] = /made (0x\w{40}) its delegate/.exec(await refusal()) ?? [];
    assert.ok(delegate !== undefined, 'the refusal names the delegate');
    const maker = account.address.toLowerCase();
    await delegateOnChain(server, maker, delegate);
    await server.admin.addDelegate(owner.userId, maker, delegate);
    const creds = await wallet.createOrDeriveApiKey();
    const client = await clientAt(facade.host, version, { signer, creds });

    const market = await makeMarket(server);
    const [tokenID, other] = [market.yes_token_id, await makeTrader(server)];
    await eventually('the market is listed', async () => (await client.getOrderBook(tokenID))?.market !== undefined);
    const balance = async (asked: Json): Promise<Json> => client.getBalanceAllowance(asked);
    const usdc = async (): Promise<number> => Number((await balance({ asset_type: 'COLLATERAL' })).balance);
    assert.equal(await usdc(), DEPOSIT_MICRO, 'nothing is given');
    const auth = { apiKey: creds.key, secret: creds.secret, passphrase: creds.passphrase };
    const socket = new PolymarketSocket(`${facade.host.replace('http', 'ws')}/ws/user`, { type: 'user', auth });
    await socket.subscribed();

    const order = { tokenID, price: 0.4, size: 10, side: 'BUY' };
    const placed = await postOrder(client, version, order, 'GTC');
    assert.equal(placed.status, 'live', JSON.stringify(placed));
    assert.equal(await usdc(), DEPOSIT_MICRO, 'orders lock nothing there');
    assert.match((await balance({ asset_type: 'COLLATERAL' })).allowance, /^\d{77,78}$/);
    await other.place(market, { outcomeIndex: 1, price: '0.60', size: '10' });
    const states = (): Json[] => socket.of('trade');
    await eventually('the trade is confirmed', async () => states().some(({ status }) => status === 'CONFIRMED'));
    assert.deepEqual(
      states().map(({ status }) => status),
      ['MATCHED', 'MINED', 'CONFIRMED'],
    );
    assert.equal(await usdc(), DEPOSIT_MICRO - 4_000_000);
    const held = await balance({ asset_type: 'CONDITIONAL', token_id: tokenID });
    assert.equal(held.balance, '9950000', 'less the fee of 0.5 %');

    const [trade]: Json[] = await client.getTrades();
    const settlement = await owner.client.tradeSettlement(trade.id);
    assert.deepEqual([trade.status, settlement.settlement_status], ['CONFIRMED', 'settled']);
    assert.equal(settlement.transaction_hash !== null, isOnChain);
    const confirmed = states().at(-1)!;
    assert.equal(confirmed.transaction_hash, trade.transaction_hash);
    if (isOnChain) assert.equal(trade.transaction_hash, settlement.transaction_hash, 'that of the chain');

    const stranger = await clientAt(facade.host, version, { signer, creds, type: 2, funder: other.address });
    const refused = await postOrder(stranger, version, order, 'GTC').catch((thrown: Error) => ({
      error: thrown.message,
    }));
    assert.match(refused.error, /belongs to|no wallet of the account/);
    const sold = await postOrder(client, version, { ...order, price: 0.9, size: 9, side: 'SELL' }, 'GTC');
    assert.equal((await client.cancelOrder({ orderID: sold.orderID })).canceled[0], sold.orderID);
    socket.close();
    assert.deepEqual(facade.errors, []);
  });
}
