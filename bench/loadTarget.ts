/** Shared by the benches of the whole server: an account with a key and money, and a client in its own process. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAX_OPEN_ORDERS } from '../shared/base/codes.ts';
import { ExchangeClient } from '../shared/client/client.ts';
import { OrderSigner } from '../shared/client/orderSigner.ts';
import type { Scope, TestServer } from '../test/support/server.ts';
import { makeMarket } from '../test/support/traders.ts';
import type { BarePathOptions } from './barePathProtocol.ts';
import type { LoadSigner, LoadTarget, Peer } from './loadClient.ts';

/**
 * Settings of a server whose orders are measured. Tests start without the space in the WAL that an exchange reserves
 * (JOURNAL_RESERVE_MB): the first commits would have to get it from the file system piece by piece.
 */
export const MEASURED_SERVER = { SHARDS: '', JOURNAL_RESERVE_MB: '16' } as const;

const FEE_BPS = 50;
const PRIVATE_KEY = `0x${'22'.repeat(32)}`;
const DEPOSIT_MICRO = '1000000000000';

/** One account and one market of its own. */
export async function makeTarget(server: TestServer): Promise<LoadTarget> {
  const domain = await new ExchangeClient({ baseUrl: server.baseUrl }).signingDomain();
  const market = await makeMarket(server);
  const signer = await makeSigner(server, new OrderSigner(PRIVATE_KEY, domain), PRIVATE_KEY);
  return { baseUrl: server.baseUrl, market, domain, feeBps: FEE_BPS, ...signer };
}

/** An account with money whose wallet has this key. */
async function makeSigner(server: TestServer, { address }: OrderSigner, privateKey: string): Promise<LoadSigner> {
  const { admin } = server;
  const user = await admin.createUser({ wallet_address: address });
  // A load leaves more orders in its one market than a trader may have.
  const most = { max_open_orders: MAX_OPEN_ORDERS, max_open_orders_per_market: MAX_OPEN_ORDERS };
  await server.adminRequest('PUT', `/admin/users/${user.id}/open-order-bounds`, most);
  await admin.deposit(user.id, { amount_usdc_micro: DEPOSIT_MICRO });
  const {
    key_id: keyId,
    secret,
    passphrase,
  } = await admin.createApiKey(user.id, {
    scopes: ['trade:orders', 'trade:bulk'],
  });
  return { credentials: { keyId, secret, passphrase }, privateKey };
}

/** Makes this many signers, each with one key. */
export function makeSigners(server: TestServer, { domain }: LoadTarget, count: number): Promise<LoadSigner[]> {
  const keys = Array.from({ length: count }, (_, index) => `0x${(index + 1).toString(16).padStart(64, '0')}`);
  return Promise.all(keys.map((privateKey) => makeSigner(server, new OrderSigner(privateKey, domain), privateKey)));
}

/** uWebSockets.js alone. */
export function startBareServer(scope: Scope): Promise<Peer> {
  return startPeer(scope, './bareServer.ts');
}

/** The bare path of a signed order, for orders of this target. */
export function startBarePath(scope: Scope, { credentials, market, domain }: LoadTarget): Promise<Peer> {
  const directory = mkdtempSync(join(tmpdir(), 'exchange-bench-'));
  const options: BarePathOptions = { credentials, market, domain, directory };
  return startPeer(scope, './barePath.ts', options, () => rmSync(directory, { recursive: true }));
}

async function startPeer(scope: Scope, entry: string, options?: object, whenOver = (): void => {}): Promise<Peer> {
  const child = forkEntry(entry);
  scope.after(async () => {
    if (child.exitCode === null) {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    }
    whenOver();
  });
  if (options !== undefined) child.send(options);
  const [port] = await once(child, 'message');
  return { baseUrl: `http://127.0.0.1:${port}`, pid: child.pid };
}

/** Runs a client to its end. @returns everything that it reported. */
export async function runClient<Options extends object, Result>(entry: string, options: Options): Promise<Result[]> {
  const child = forkEntry(entry);
  const results: Result[] = [];
  child.on('message', (result) => results.push(result as Result));
  // Its last message may arrive after its exit, but not after the end of the channel.
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  child.send(options);
  const [[code]] = await ended;
  if (code !== 0) throw new Error(`the client ended with ${code}`);
  return results;
}

function forkEntry(entry: string): ChildProcess {
  return fork(fileURLToPath(new URL(entry, import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
}
