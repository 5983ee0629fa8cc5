/** Money between the ledger and the chain, as administrators see it (RULES.md 17.27, 17.28). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainMoneyRoutes, comparedChain } from '../../../../gateway/chain/adminChainMoneyRoutes.ts';
import { ChainDown } from '../../../../gateway/shardlink/settlementLink.ts';
import { LEDGER_SETTLEMENT } from '../../../../gateway/shardlink/settlementPort.ts';
import { FEE_ACCOUNT, OUTCOME } from '../../../../shared/base/codes.ts';
import { checksumAddress } from '../../../../shared/crypto/checksumAddress.ts';
import { TestCall } from '../../../support/calls.ts';

const WALLET = `0x${'ab'.repeat(20)}`;
const ROW = {
  event: 4,
  kind: 'deposit',
  wallet: WALLET,
  amount: '5',
  reference: 'chain:0x1:2',
  reason: null,
  foundMs: 0,
};
const down = async () => Promise.reject(new ChainDown('away'));

async function list(ask: ((question: string, asked: unknown) => Promise<unknown>) | null) {
  const [route] = chainMoneyRoutes({ settlement: ask === null ? LEDGER_SETTLEMENT : ({ ask } as never) });
  const call = new TestCall({ method: 'GET', path: route!.path });
  call.call.query = { limit: 7, offset: 3 };
  await route!.handler(call.call);
  return call;
}

function compare(ask: (question: string) => Promise<unknown>) {
  return comparedChain({
    accounts: { idOf: (account) => `user ${account}` },
    catalog: { byIndex: (market) => ({ id: `market ${market}` }) as never },
    settlement: { ask, holdsFunds: true, standing: { latest: { reconciledBlock: 9 } } } as never,
  });
}

test('RULES.md 17.28: money that waits is listed with the reason; without a chain none does', async () => {
  const asked: unknown[] = [];
  const found = await list(async (...each) => {
    asked.push(each);
    return { rows: [ROW, { ...ROW, reason: 'unknown_wallet' }], total: 12 };
  });
  assert.deepEqual(asked, [['openMoney', { limit: 7, offset: 3 }]]);
  const shown = {
    kind: 'deposit',
    wallet: checksumAddress(WALLET),
    amount_atomic: '5',
    reference: 'chain:0x1:2',
    reason: null,
  };
  const movement = { ...shown, found_at: '1970-01-01T00:00:00.000Z' };
  assert.deepEqual(found.json, { movements: [movement, { ...movement, reason: 'unknown_wallet' }], total: 12 });
  assert.deepEqual((await list(null)).json, { movements: [], total: 0 });
  const busy = await list(down);
  assert.deepEqual([busy.status, busy.json['code']], [503, 'ENGINE_BUSY']);
});

test('RULES.md 17.27: a difference names its holder, what is meant and both sides', async () => {
  const amounts = { ledger: '5', underWay: '-2', held: '4' };
  const found = await compare(async () => [
    { account: 3, token: { market: 1, outcome: OUTCOME.NO }, ...amounts },
    { account: FEE_ACCOUNT, token: null, ...amounts },
    { account: null, token: null, ...amounts },
  ]);
  const shown = { ledger_atomic: '5', under_way_atomic: '-2', chain_atomic: '4' };
  const usdc = { user_id: null, market_id: null, outcome: null, ...shown };
  assert.deepEqual(found, {
    block: 9,
    differences: [
      { holder: 'user', user_id: 'user 3', market_id: 'market 1', outcome: 'no', ...shown },
      { holder: 'fees', ...usdc },
      { holder: 'all', ...usdc },
    ],
  });
  assert.deepEqual(await compare(down), { block: 9, differences: null });
});
