/** What the benches of the whole server share: an account with a key and money, and a client in its own process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ExchangeClient } from '../shared/sdk/client.ts';
import { OrderSigner } from '../shared/sdk/order.ts';
import type { TestServer } from '../test/support/server.ts';
import { makeMarket } from '../test/support/traders.ts';
import type { LoadTarget } from './loadClient.ts';

export const FEE_BPS = 50;
export const PRIVATE_KEY = `0x${'22'.repeat(32)}`;
const DEPOSIT_MICRO = '1000000000000';

/** One account and one market of its own. */
export async function makeTarget(server: TestServer): Promise<LoadTarget> {
  const domain = await new ExchangeClient({ baseUrl: server.baseUrl }).signingDomain();
  const market = await makeMarket(server);
  const { address } = new OrderSigner(PRIVATE_KEY, domain);
  const user = await server.admin.createUser({ wallet_address: address });
  await server.admin.deposit(user.id, { amount_usdc_micro: DEPOSIT_MICRO });
  const key = await server.admin.createApiKey(user.id, { scopes: ['trade:orders'] });
  return {
    baseUrl: server.baseUrl,
    market,
    domain,
    credentials: { keyId: key.key_id, secret: key.secret, passphrase: key.passphrase },
    privateKey: PRIVATE_KEY,
    feeBps: FEE_BPS,
  };
}

/** Runs a client to its end. @returns all that it reported. */
export async function runClient<Options extends object, Result>(entry: string, options: Options): Promise<Result[]> {
  const child = fork(fileURLToPath(new URL(entry, import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const results: Result[] = [];
  child.on('message', (result) => results.push(result as Result));
  // What it sent last may come after its exit, but not after the end of the channel.
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  child.send(options);
  const [[code]] = await ended;
  if (code !== 0) throw new Error(`the client ended with ${code}`);
  return results;
}
