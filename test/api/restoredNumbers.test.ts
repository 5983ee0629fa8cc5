/**
 * An exchange that was restored to an earlier time trades on: no number or id seen before means something else
 * afterwards, whatever was given out since that time, and a client that asks for frames after its last number learns of
 * the gap.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { assertWhole, runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { type Json, type Scope, startServer, TestServer } from '../support/server.ts';
import { StreamClient } from '../support/streamClient.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const SCOPES = ['read:account', 'trade:orders', 'trade:bulk', 'stream:market', 'stream:user'] as const;
const folder = temporaryDirectory();
const target = join(folder, 'backups');

/** The meaning of each number and id, as clients and operators have seen it. */
class Seen {
  readonly #meanings = new Map<string, string>();
  repeated = 0;

  add(name: string, meaning: string): void {
    const before = this.#meanings.get(name);
    if (before === undefined) this.#meanings.set(name, meaning);
    else {
      assert.equal(meaning, before, `${name} means something else`);
      this.repeated++;
    }
  }

  has(name: string): boolean {
    return this.#meanings.has(name);
  }

  get size(): number {
    return this.#meanings.size;
  }
}

type Positions = { readonly market: number; readonly user: number; readonly audit: number };

/** Everything that an account, the public and an operator are told while `trade` runs. */
async function watch(
  scope: Scope,
  { server, trader, market, seen }: { server: TestServer; trader: Trader; market: OrderMarket; seen: Seen },
  subscription: Json,
  trade: () => Promise<void>,
): Promise<{ readonly frames: Json[]; readonly answer: Json; readonly at: Positions }> {
  const { headers } = trader.client.prepareSigned('GET', '/v1/ws');
  const client = await StreamClient.open(scope, server.baseUrl, headers);
  const answer = await client.subscribe({ markets: [market.id], user: true, ...subscription });
  await trade();
  await client.settle();
  const at = { market: 0, user: 0, audit: 0 };
  for (const { channel, sequence, user_sequence, data, market_id, timestamp } of client.frames) {
    const meaning = JSON.stringify([channel, timestamp, data]);
    if (channel === 'trade' || channel === 'book_delta') {
      seen.add(`frame ${sequence} of ${market_id}`, meaning);
      at.market = Math.max(at.market, sequence);
    } else if (user_sequence !== undefined) {
      seen.add(`frame ${user_sequence} of ${trader.userId}`, meaning);
      at.user = Math.max(at.user, user_sequence);
      if (data.order_id !== undefined) seen.add(`order ${data.order_id}`, data.order_hash ?? data.hash);
      if (data.trade_id !== undefined) seen.add(`trade ${data.trade_id} of ${data.order_id}`, meaning);
    }
  }
  const { records } = await server.admin.audit({ limit: 500 });
  for (const record of records as unknown as Json[]) {
    seen.add(`audit record ${record.sequence}`, record.hash);
    at.audit = Math.max(at.audit, record.sequence);
  }
  client.end();
  return { frames: client.frames, answer, at };
}

async function admin(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runAdminHere(args, {});
  assert.equal(status, 0, `${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

async function restored(t: TestContext, name: string, point: string): Promise<{ server: TestServer; floor: number }> {
  const directory = join(folder, name);
  const text = await admin('restore', target, '--data', directory, '--point', point);
  const [, floor] = /^numbers go on above (\d+)$/m.exec(text)!;
  await admin('journal', 'verify', '--data', directory);
  await admin('audit', '--data', directory);
  const back = new TestServer(directory);
  t.after(() => back.kill());
  await back.start();
  await back.admin.resume();
  return { server: back, floor: Number(floor) };
}

test('no number or id that was seen means something else after a restore, or after two to one point', async (t) => {
  const server = await startServer(t);
  const seen = new Seen();
  const market = await makeMarket(server);
  const alice = await makeTrader(server, { scopes: [...SCOPES] });
  const bob = await makeTrader(server, { scopes: [...SCOPES] });
  /** Two orders rest, one trades, and one is cancelled. */
  const tradeOn = async (on: TestServer, inMarket = market): Promise<void> => {
    const [a, b] = [alice.on(on), bob.on(on)];
    await a.place(inMarket, { price: '0.11', size: '3' });
    await a.place(inMarket, { price: '0.55', size: '3' });
    await b.place(inMarket, { price: '0.46', size: '2', outcomeIndex: 1 });
    await a.send('DELETE', '/v1/orders/cancel-market', { market_id: inMarket.id });
  };
  const parts = { server, trader: alice, market, seen };
  await watch(t, parts, { user_since: 0, snapshot: true }, () => tradeOn(server));
  const [, point] = /^point (\S+):/m.exec(await admin('backup', target, '--data', server.dataDir, '--rate', '0'))!;
  const lost = await watch(t, parts, { user_since: 0, from_sequence: { [market.id]: 0 } }, async () => {
    await tradeOn(server);
    await makeTrader(server);
    const later = await makeMarket(server);
    await tradeOn(server, later);
  });
  // Its journals have another history than the restored ones.
  await admin('backup', target, '--data', server.dataDir, '--rate', '0');
  await server.kill();
  assert.ok(seen.size > 30, `${seen.size} numbers were seen`);
  let { at } = lost;
  for (const name of ['first', 'second']) {
    const { server: back, floor } = await restored(t, name, point!);
    const since = { user_since: at.user, from_sequence: { [market.id]: at.market } };
    const trader = alice.on(back);
    const again = await watch(t, { server: back, trader, market, seen }, since, async () => {
      await tradeOn(back);
      const added = await makeMarket(back);
      await makeTrader(back);
      await tradeOn(back, added);
    });
    assert.ok(again.answer.user_sequence >= floor, 'the answer says that numbers were left out');
    const ofMarket = again.frames.filter(
      ({ market_id, sequence }) => market_id === market.id && sequence !== undefined,
    );
    assert.equal(ofMarket[0]?.channel, 'book', 'a book comes in place of frames that there are not');
    assert.ok(ofMarket[0].sequence >= floor);
    const ofUser = again.frames.filter(({ user_sequence }) => user_sequence !== undefined);
    assert.equal(ofUser[0].user_sequence, floor + 1);
    for (const [what, number] of Object.entries(again.at)) assert.ok(number > floor, `${what}: ${number}`);
    const { records } = await back.admin.audit({ limit: 500 });
    const note = (records as unknown as Json[]).find(({ event }) => event === 'restored')!;
    assert.equal(note.sequence, floor + 1);
    await back.stop();
    await assertWhole(back.dataDir);
    await admin('audit-log', '--data', back.dataDir);
    at = again.at;
  }
});

test('numbers go on in a directory that was restored, and in one that is restored once more', async (t) => {
  const [first] = /^\d\S+/m.exec(await admin('backups', 'list', target))!;
  const { server, floor } = await restored(t, 'again', first);
  const market = await makeMarket(server);
  const alice = await makeTrader(server, { scopes: [...SCOPES] });
  await alice.place(market, { price: '0.11', size: '3' });
  // In the same folder: its journals have another history than the point's.
  await admin('backup', target, '--data', server.dataDir, '--rate', '0');
  await server.restart();
  const { headers } = alice.reconnected().client.prepareSigned('GET', '/v1/ws');
  const client = await StreamClient.open(t, server.baseUrl, headers);
  const answer = await client.subscribe({ user: true, user_since: floor, markets: [market.id], snapshot: true });
  await client.settle();
  assert.equal(answer.user_sequence, floor);
  assert.deepEqual(
    client.of('order_status').map(({ user_sequence }) => user_sequence),
    [floor + 1],
  );
  assert.equal(client.of('book')[0]!.sequence, floor + 1);
  await server.stop();
  const text = await admin('restore', target, '--data', join(folder, 'oncemore'));
  assert.ok(Number(/^numbers go on above (\d+)$/m.exec(text)![1]) > floor);
  await assertWhole(join(folder, 'oncemore'));
});
