import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LedgerClient } from '../../../../shared/client/ledger.ts';

test('every method of the ledger reads its route, and a statement of any length as it comes', async () => {
  const read: string[] = [];
  const client = new LedgerClient({
    get: async <T>(path: string): Promise<T> => {
      read.push(path);
      return path as T;
    },
    send: async <T>(method: string, path: string, body: object): Promise<T> => {
      read.push(`${method} ${path} ${JSON.stringify(body)}`);
      return path as T;
    },
    open: async (path) => {
      read.push(`open ${path}`);
      return new ReadableStream();
    },
  });
  const from = '2026-10-01T00:00:00Z';
  await client.fundMovements({ limit: 5 });
  await client.statement({ from });
  await client.openStatement({ format: 'csv' });
  await client.rebates({ page: 2, status: 'accrued' });
  await client.referralEarnings({ per_page: 1 });
  await client.splitParams('m/1');
  await client.authorizeDeposit(5n);
  await client.withdraw({ amount_usdc_micro: '5', to: 'unheld' });
  assert.deepEqual(read, [
    '/v1/user/fund-movements?limit=5',
    '/v1/user/statement?from=2026-10-01T00%3A00%3A00Z',
    'open /v1/user/statement?format=csv',
    '/v1/user/rebates?page=2&status=accrued',
    '/v1/user/referral/earnings?per_page=1',
    '/v1/markets/m%2F1/split-params',
    'POST /v1/user/deposit-authorizations {"amount_usdc_micro":"5"}',
    'POST /v1/user/withdrawals {"amount_usdc_micro":"5","to":"unheld"}',
  ]);
});
