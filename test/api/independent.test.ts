/** An order signed by another library, using only the public routes, is accepted by this exchange. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashTypedData } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sharedServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();

const TYPES = {
  Order: [
    { name: 'salt', type: 'uint256' },
    { name: 'maker', type: 'address' },
    { name: 'signer', type: 'address' },
    { name: 'taker', type: 'address' },
    { name: 'tokenId', type: 'uint256' },
    { name: 'makerAmount', type: 'uint256' },
    { name: 'takerAmount', type: 'uint256' },
    { name: 'expiration', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'feeRateBps', type: 'uint256' },
    { name: 'minTakerNet', type: 'uint256' },
    { name: 'side', type: 'uint8' },
  ],
} as const;

test('an order signed with viem is accepted under the hash viem computes', async () => {
  const market = await makeMarket(server);
  const privateKey = '0x00000000000000000000000000000000000000000000000000000000000a11ce';
  const trader = await makeTrader(server, { privateKey });
  const account = privateKeyToAccount(privateKey);
  const config = await trader.client.platformConfig();
  const zero = '0x0000000000000000000000000000000000000000' as const;
  const typed = {
    domain: {
      name: config.eip712_domain!.name,
      version: config.eip712_domain!.version,
      chainId: config.chain_id,
      verifyingContract: config.exchange_address as `0x${string}`,
    },
    types: TYPES,
    primaryType: 'Order',
    message: {
      salt: 2n ** 255n + 7n,
      maker: account.address,
      signer: account.address,
      taker: zero,
      tokenId: BigInt(market.yes_token_id),
      makerAmount: 6_500_000n,
      takerAmount: 10_000_000n,
      expiration: 0n,
      nonce: 3n,
      feeRateBps: 50n,
      minTakerNet: 0n,
      side: 0,
    },
  } as const;
  const answer = await trader.post({
    market_id: market.id,
    token_id: market.yes_token_id,
    side: 'BUY',
    maker_amount: '6500000',
    taker_amount: '10000000',
    maker: account.address,
    signer: account.address,
    taker: zero,
    salt: typed.message.salt.toString(),
    nonce: 3,
    expiration: 0,
    fee_rate_bps: 50,
    signature: await account.signTypedData(typed),
    outcome_index: 0,
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.body.status, 'open');
  assert.equal(answer.body.order_hash, hashTypedData(typed));

  const record = await trader.client.getOrder(answer.body.order_hash);
  assert.equal(record.price, '0.65000000');
  assert.equal(record.remaining, '6500000');
});
