/**
 * Directories for the battery of damages, of the only member of a cluster: one killed after trades that the log has,
 * the same at an earlier time, and one of another cluster.
 */
import { foundNew } from '../../../engine/admin/clusterFound.ts';
import type { OrderMarket } from '../../../shared/client/order.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../freePort.ts';
import { sharedPostgres } from '../postgres.ts';
import type { Scope, TestServer } from '../server.ts';
import { makeMarket, makeTrader, type Trader } from '../traders.ts';
import { copyOf, keepSources, newExchange, startAsNobody, toldBy, type World } from './world.ts';

const CLUSTER = 'exchange';
const ROUNDS = 5;

type Member = { readonly server: TestServer; readonly settings: Readonly<Record<string, string>> };

/** A killed member gets its lease again once that has ended. */
function awaitLead(server: TestServer): Promise<unknown> {
  return eventually('the lead', async () => (await server.request('GET', '/ready?role=leader')).status === 200);
}

async function begin(scope: Scope): Promise<Member> {
  const url = await (await sharedPostgres()).database();
  await foundNew(url, CLUSTER);
  const log = { JOURNAL: 'postgres', JOURNAL_URL: url, JOURNAL_UNSYNCED: 'on', CLUSTER_NAME: CLUSTER };
  const port = String(await freePort());
  const own = { MEMBER_NAME: 'a', MEMBER_URL: `http://127.0.0.1:${port}`, PORT: port, MASTER_KEY: '5a'.repeat(32) };
  const settings = { ...log, ...own };
  const server = await newExchange(settings);
  scope.after(() => server.kill());
  await awaitLead(server);
  return { server, settings };
}

async function trade({ server }: Member, market: OrderMarket, traders: readonly Trader[]): Promise<void> {
  const [alice, bob] = traders.map((trader) => trader.on(server));
  for (let round = 0; round < ROUNDS; round++) {
    await alice!.place(market, { price: '0.55', size: '3' });
    await bob!.place(market, { price: '0.46', size: '2', outcomeIndex: 1 });
  }
}

export async function makeClusterWorld(scope: Scope): Promise<World> {
  await keepSources();
  const member = await begin(scope);
  const { server, settings } = member;
  const market = await makeMarket(server);
  const traders = [await makeTrader(server), await makeTrader(server)];
  await trade(member, market, traders);
  await server.stop();
  const earlier = copyOf(server.dataDir);
  await startAsNobody(server, settings);
  await awaitLead(server);
  await trade(member, market, traders);
  const told = await toldBy(server, { traders, market });
  await server.kill();
  const whole = copyOf(server.dataDir);
  const another = await begin(scope);
  await another.server.kill();
  const other = copyOf(another.server.dataDir);
  return { settings, whole, earlier, other, told, traders, market, framesBefore: 0, changing: new Set(), awaitLead };
}
