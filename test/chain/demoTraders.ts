/**
 * Fills a demo on a chain, over the interface that operators have: with the demo catalogue, and with accounts whose
 * wallets have brought play money into the contract. The ledger follows their deposits, so nothing is given to them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { demoCatalogue } from '../../gateway/wiring/demoCatalogue.ts';
import { SCOPE_NAMES } from '../../shared/api/accounts.ts';
import { type CatalogueLine, MAX_IMPORT_LINES } from '../../shared/api/catalogue.ts';
import { AdminClient } from '../../shared/client/admin.ts';
import { ExchangeClient } from '../../shared/client/client.ts';
import type { DemoExchange } from './demoExchange.ts';
import type { LocalChain } from './local.ts';

export type DemoTraders = {
  /** The demo's file, with the keys of its accounts. */
  readonly path: string;
  /** A market that is traded in. */
  readonly marketId: string;
  readonly takers: readonly ExchangeClient[];
};

type Account = Awaited<ReturnType<typeof makeAccount>>;

/** The first account is for the visitor. */
const VISITOR = 'alice';
const FLOW = { maker: 'maker', deeper: ['erin', 'frank'], takers: ['carol', 'dave'] } as const;
const NAMES = [VISITOR, FLOW.maker, ...FLOW.deeper, ...FLOW.takers] as const;
const FLOW_MARKETS = 8;
const FUNDS_MICRO = 10_000_000_000n;
const LOOK_EVERY_MS = 200;
const DEPOSITS_WITHIN_MS = 120_000;

/** The chain makes a block of each transaction as yet. */
export async function makeDemo(exchange: DemoExchange, chain: LocalChain, dataDir: string): Promise<DemoTraders> {
  const { baseUrl } = exchange;
  const admin = new AdminClient({ baseUrl, token: exchange.adminToken });
  const marketIds = await makeCatalogue(admin, new ExchangeClient({ baseUrl }));
  const accounts: Account[] = [];
  for (const name of NAMES) accounts.push(await makeAccount(admin, name));
  for (const { private_key } of accounts) {
    const wallet = privateKeyToAccount(private_key);
    await chain.fund(wallet.address, 2n * FUNDS_MICRO);
    await chain.deposit(wallet, FUNDS_MICRO);
  }
  await chain.finalize();
  const clients = new Map(accounts.map((account) => [account.name, clientOf(baseUrl, account)]));
  for (const client of clients.values()) await deposited(client);
  const demo = { base_url: baseUrl, market_id: marketIds[0], accounts, flow: { ...FLOW, market_ids: marketIds } };
  const path = join(dataDir, 'demo.json');
  writeFileSync(path, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  return { path, marketId: marketIds[0]!, takers: FLOW.takers.map((name) => clients.get(name)!) };
}

/** @returns the markets of the flow: the first active market of some events */
async function makeCatalogue(admin: AdminClient, client: ExchangeClient): Promise<string[]> {
  const { lines } = demoCatalogue(Date.now());
  const firstOf = new Map<string, string>();
  for (let at = 0; at < lines.length; at += MAX_IMPORT_LINES) {
    const part: readonly CatalogueLine[] = lines.slice(at, at + MAX_IMPORT_LINES);
    const report = await admin.importCatalogue(part.map((line) => `${JSON.stringify(line)}\n`).join(''));
    for (const { line, result, id, error } of report.lines) {
      if (result === 'failed') throw new Error(`line ${at + line} of the catalogue: ${error}`);
      const event = part[line - 1]?.market?.event_slug;
      if (typeof event === 'string' && !firstOf.has(event)) firstOf.set(event, id!);
    }
  }
  const found: string[] = [];
  for (const id of firstOf.values()) {
    if ((await client.market(id)).status === 'active') found.push(id);
    if (found.length === FLOW_MARKETS) break;
  }
  return found;
}

async function makeAccount(admin: AdminClient, name: string) {
  const privateKey = generatePrivateKey();
  const wallet = privateKeyToAccount(privateKey).address;
  const user = await admin.createUser({ display_name: name, wallet_address: wallet, role: 'market_maker' });
  const key = await admin.createApiKey(user.id, { scopes: [...SCOPE_NAMES], tier: 'market_maker' });
  const { key_id, secret, passphrase } = key;
  return { name, user_id: user.id, key_id, secret, passphrase, private_key: privateKey, wallet_address: wallet };
}

function clientOf(baseUrl: string, { key_id: keyId, secret, passphrase }: Account): ExchangeClient {
  return new ExchangeClient({ baseUrl, credentials: { keyId, secret, passphrase } });
}

/** Resolves once the ledger has the deposit. */
async function deposited(client: ExchangeClient): Promise<void> {
  const deadline = performance.now() + DEPOSITS_WITHIN_MS;
  while ((await client.balances()).usdc.available === '0') {
    if (performance.now() > deadline) throw new Error('the deposits did not arrive');
    await sleep(LOOK_EVERY_MS);
  }
}
