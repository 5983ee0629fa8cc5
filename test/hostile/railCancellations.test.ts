/**
 * Attack: accounts without money cancel authorizations on the rail, as fast as their limits let them, with right and
 * with wrong signatures (RULES.md 16.43). How long others took is printed.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { cancelDigest } from '../../shared/crypto/eip3009.ts';
import { eventually } from '../support/eventually.ts';
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
/** Every account may send this many at once. */
const IN_A_SECOND = 5 * (ACCOUNTS - 1);
const [ATTACKER, CUSTOMER] = ['127.0.3.1', '127.0.4.1'];
const ATTACKERS = 3;
const HONEST = 5;
const ENDS_IN_SEC = 20;
const WRONG = `0x${'11'.repeat(64)}1b`;

const server = await startServer(fileScope, { SHARDS: '1', RATE_LIMITS: 'on' });
const market = await makeMarket(server);
const trader = await makeTrader(server, { requestsPerSecond: 1000 });

type Account = { readonly session: Json; readonly bodies: Json[] };

async function enter(isRight: boolean, endsInSec = 600): Promise<Account> {
  const wallet = makeWallet();
  const session = (await signIn(server, wallet)).body;
  const { domain } = (await server.request('GET', '/v1/fiat/rail', undefined, bearer(session))).body;
  const authorizer = wallet.address.toLowerCase();
  const bodies = await Promise.all(
    Array.from({ length: SENT }, async (_, index) => {
      const nonce = `0x${(index + 1).toString(16).padStart(64, '0')}`;
      const hash = cancelDigest(domain, authorizer, nonce) as `0x${string}`;
      const valid_before = Math.floor(Date.now() / 1000) + endsInSec;
      return { authorizer, nonce, signature: isRight ? await wallet.sign({ hash }) : WRONG, valid_before };
    }),
  );
  return { session, bodies };
}

const send = ({ session }: Account, body: Json): Promise<Answer> => server.request('POST', PATH, body, bearer(session));

/** From an address of this machine, by which strangers are counted. */
async function sendFrom(localAddress: string, { session }: Account, body: Json): Promise<{ status: number }> {
  const headers = { ...bearer(session), 'content-type': 'application/json' };
  const request = httpRequest(server.baseUrl + PATH, { method: 'POST', headers, localAddress, agent: false });
  request.end(JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode! };
}

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
  await server.start({ RATE_LIMITS: 'on' });
});

test('a customer elsewhere cancels five authorizations a minute while an address goes on cancelling', async () => {
  const attackers: Account[] = [];
  for (let index = 0; index < ATTACKERS; index++) attackers.push(await enter(true));
  const customer = await enter(true);
  let isOver = false;
  const attacks = attackers.map(async (attacker) => {
    for (let turn = 0; !isOver; turn++) {
      const { status } = await sendFrom(ATTACKER, attacker, attacker.bodies[turn % SENT]!);
      assert.ok([202, 409, 429].includes(status), `${status}`);
    }
  });
  const honest: number[] = [];
  for (const body of customer.bodies.slice(0, HONEST)) honest.push((await sendFrom(CUSTOMER, customer, body)).status);
  isOver = true;
  await Promise.all(attacks);
  assert.deepEqual(
    honest,
    Array.from({ length: HONEST }, () => 202),
  );
});

test('a cancellation is deleted when what it cancels is over, and its place is free again', async () => {
  const account = await enter(true, ENDS_IN_SEC);
  const [body] = account.bodies;
  assert.equal((await sendFrom(CUSTOMER, account, body!)).status, 202);
  const path = `/v1/fiat/rail/authorizations/${body!.authorizer}/${body!.nonce}`;
  const state = async (): Promise<string> =>
    (await server.request('GET', path, undefined, bearer(account.session))).body.state;
  await eventually('the cancellation counts', async () => (await state()) === 'cancelled');
  await eventually('the cancellation is deleted', async () => (await state()) === 'unused');
});
