/**
 * Attack: accounts without money cancel authorizations on the rail, as fast as their limits let them, with right and
 * with wrong signatures (RULES.md 16.43). How long others took is printed.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { cancelDigest } from '../../shared/crypto/eip3009.ts';
import { fileScope } from '../support/fileScope.ts';
import { timesOf } from '../support/seeds.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { measureVictim } from '../support/victim.ts';
import { bearer, makeWallet, signIn } from '../support/wallet.ts';

const PATH = '/v1/fiat/rail/cancellations';
const ACCOUNTS = timesOf({ suite: 7, soak: 10 });
const SENT = 20;
const [OF_ACCOUNT, OF_ADDRESS] = [10, 60];
/** Every account may send so many at once. */
const IN_A_SECOND = 5 * (ACCOUNTS - 1);
const WRONG = `0x${'11'.repeat(64)}1b`;

const server = await startServer(fileScope, { SHARDS: '1', RATE_LIMITS: 'on' });
const market = await makeMarket(server);
const trader = await makeTrader(server, { requestsPerSecond: 1000 });

type Account = { readonly session: Json; readonly bodies: Json[] };

async function enter(isRight: boolean): Promise<Account> {
  const wallet = makeWallet();
  const session = (await signIn(server, wallet)).body;
  const { domain } = (await server.request('GET', '/v1/fiat/rail', undefined, bearer(session))).body;
  const authorizer = wallet.address.toLowerCase();
  const bodies = await Promise.all(
    Array.from({ length: SENT }, async (_, index) => {
      const nonce = `0x${(index + 1).toString(16).padStart(64, '0')}`;
      const hash = cancelDigest(domain, authorizer, nonce) as `0x${string}`;
      const valid_before = Math.floor(Date.now() / 1000) + 600;
      return { authorizer, nonce, signature: isRight ? await wallet.sign({ hash }) : WRONG, valid_before };
    }),
  );
  return { session, bodies };
}

const send = ({ session }: Account, body: Json): Promise<Answer> => server.request('POST', PATH, body, bearer(session));

function rows(): number {
  const control = new Database(join(server.dataDir, 'control.db'), { readonly: true });
  const count = control.prepare<[], number>('SELECT count(*) FROM rail_transactions').pluck().get()!;
  control.close();
  return count;
}

test('an account and an address cancel so many a minute, and wrong ones leave nothing', async (t) => {
  const accounts: Account[] = [];
  for (let index = 0; index < ACCOUNTS; index++) accounts.push(await enter(index > 0));
  const statuses = new Map<number, number>();
  await measureVictim(t, {
    send: async () => {
      const { order_hash } = await trader.place(market, { price: '0.40', size: '10' });
      await trader.client.cancelOrder(order_hash);
    },
    attack: () =>
      Promise.all(
        accounts.map(async (account) => {
          let accepted = 0;
          for (const body of account.bodies) {
            const { status } = await send(account, body);
            statuses.set(status, (statuses.get(status) ?? 0) + 1);
            if (status === 202) accepted++;
          }
          assert.ok(accepted <= OF_ACCOUNT, `${accepted} of an account`);
        }),
      ),
    samples: 5,
  });
  t.diagnostic(JSON.stringify([...statuses]));
  const accepted = statuses.get(202) ?? 0;
  assert.ok(accepted >= IN_A_SECOND && accepted <= OF_ADDRESS, `${accepted} of the address`);
  assert.ok((statuses.get(409) ?? 0) <= OF_ACCOUNT, 'wrong signatures');
  assert.equal(accepted + (statuses.get(409) ?? 0) + (statuses.get(429) ?? 0), ACCOUNTS * SENT);
  await server.stop();
  assert.equal(rows(), accepted);
});
