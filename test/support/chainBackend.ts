/**
 * Servers under test that settle on a chain: one local chain for the whole process, with contracts and keys of its own
 * for each data directory. The chain has twenty blocks a second, so its transactions are final soon.
 *
 * A deposit takes three seconds until the ledger has it, however many are made at once: so traders come from a pool of
 * accounts that is filled by many deposits together.
 */
import assert from 'node:assert/strict';
import { type Address, maxInt128, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { reconcileChain } from '../../engine/admin/chain.ts';
import { AdminClient } from '../../shared/client/admin.ts';
import type { Market } from '../../shared/client/types.ts';
import { Anvil } from '../chain/anvil.ts';
import { LocalChain, secretOf } from '../chain/local.ts';
import { eventually } from './eventually.ts';

const CHAIN_ID = 137;
/** Here a block is final once it has this many successors. */
const FINAL_BLOCKS = 34n;
const FIRST_USERS = 4;
const MOST_USERS = 128;
/** Pays for all deposits. */
const MANY = String(Number.MAX_SAFE_INTEGER);
const PAYER = privateKeyToAccount(secretOf('payer'));
/** The keys of accounts begin here; keys that tests name are smaller, or unrelated. */
const FIRST_KEY = 1n << 128n;

/** A slow chain and settlement on a busy machine must not refuse orders; test/chain tests chains that stand still. */
const PATIENT = { MOST_HEAD_AGE_MS: '3600000', MOST_SETTLEMENT_WAIT_MS: '3600000' };

/** A server under test (server.ts). */
type TestServer = { readonly dataDir: string; readonly baseUrl: string; readonly admin: AdminClient };
type AdminOptions = ConstructorParameters<typeof AdminClient>[0] & { readonly baseUrl: string };
type FundedUser = { readonly userId: string; readonly privateKey: string };

let anvil: Promise<Anvil> | undefined;
let keys = 0n;
/** By data directory. */
const chains = new Map<string, Promise<ServerChain>>();

/** Users with the same funds, none of which a test has used yet. */
class Pool {
  readonly #micro: number;
  readonly #users: FundedUser[] = [];
  #next = FIRST_USERS;
  #filling: Promise<void> | undefined;

  constructor(micro: number) {
    this.#micro = micro;
  }

  async user(server: TestServer, chain: LocalChain): Promise<FundedUser> {
    for (;;) {
      const user = this.#users.pop();
      if (user !== undefined) return user;
      this.#filling ??= this.#fill(server, chain).finally(() => {
        this.#filling = undefined;
      });
      await this.#filling;
    }
  }

  async #fill(server: TestServer, chain: LocalChain): Promise<void> {
    const count = this.#next;
    this.#next = Math.min(MOST_USERS, 4 * count);
    const users: FundedUser[] = [];
    for (let i = 0; i < count; i++) {
      const privateKey = toHex(FIRST_KEY + ++keys, { size: 32 });
      const { address } = privateKeyToAccount(privateKey);
      const { id: userId } = await server.admin.createUser({ wallet_address: address });
      users.push({ userId, privateKey });
      await chain.deposit(PAYER, BigInt(this.#micro), address);
    }
    for (const { userId } of users) await credited(server, userId, this.#micro);
    this.#users.push(...users);
  }
}

/** The contracts of one server. */
class ServerChain {
  readonly chain: LocalChain;
  readonly #pools = new Map<number, Pool>();

  private constructor(chain: LocalChain) {
    this.chain = chain;
  }

  static async begin(name: string): Promise<ServerChain> {
    anvil ??= startAnvil();
    const chain = await LocalChain.on(await anvil, CHAIN_ID, name);
    await chain.fund(PAYER.address, maxInt128);
    return new ServerChain(chain);
  }

  pool(micro: number): Pool {
    let pool = this.#pools.get(micro);
    if (pool === undefined) {
      pool = new Pool(micro);
      this.#pools.set(micro, pool);
    }
    return pool;
  }
}

/** A decision is one once the chain has carried it out, some seconds after the trades of before (RULES.md 17.32). */
class SettledAdmin extends AdminClient {
  readonly #baseUrl: string;

  constructor(options: AdminOptions) {
    super(options);
    this.#baseUrl = options.baseUrl;
  }

  override async resolveMarket(...given: Parameters<AdminClient['resolveMarket']>): Promise<Market> {
    await settled(this.#baseUrl);
    return this.#decided(await super.resolveMarket(...given));
  }

  override async cancelMarket(...given: Parameters<AdminClient['cancelMarket']>): Promise<Market> {
    await settled(this.#baseUrl);
    return this.#decided(await super.cancelMarket(...given));
  }

  /** The chain decides a market that it knows some seconds later. */
  #decided(market: Market): Promise<Market> {
    return eventually('the decision', async () => {
      const answer = await fetch(`${this.#baseUrl}/v1/markets/${market.id}`);
      const now = (await answer.json()) as Market;
      return now.status !== 'resolving' && now;
    });
  }
}

export const chainBackend = {
  /** Settings for the environment of every server on this data directory. */
  async settings(dataDir: string): Promise<Readonly<Record<string, string>>> {
    const { ADMIN_KEY: _, ...settings } = (await chainOf(dataDir)).chain.settings;
    const paid = { MOST_PAID_AN_HOUR_MICRO: MANY, MOST_PAID_TO_ALL_AN_HOUR_MICRO: MANY };
    const movements = { LEAST_CHAIN_MOVEMENT_MICRO: '1', MOST_CHAIN_MOVEMENTS_A_DAY: '1000000' };
    // A ledger without a chain takes no fee for them.
    return { ...settings, ...PATIENT, ...paid, ...movements, CHAIN_MOVEMENT_FEE_MICRO: '0' };
  },

  /** Resolves once a server that listens places orders: that takes a first report of settlement. */
  async started({ baseUrl }: TestServer): Promise<void> {
    await eventually('settlement is healthy', async () => {
      const answer = await fetch(`${baseUrl}/metrics`);
      return answer.status !== 200 || /^exchange_settlement_healthy 1$/m.test(await answer.text());
    });
  },

  /** Resolves once the ledger has the deposit. @param wallet the first of the account */
  async deposit(server: TestServer, userId: string, wallet: string, micro: number): Promise<void> {
    const before = await availableTo(server, userId);
    const { chain } = await chainOf(server.dataDir);
    await chain.deposit(PAYER, BigInt(micro), wallet as Address);
    await credited(server, userId, before + micro);
  },

  /** Resolves once the wallet has said, in a final block, that the delegate signs for it. */
  async addDelegate(server: TestServer, wallet: string, delegate: string): Promise<void> {
    const { chain } = await chainOf(server.dataDir);
    const { blockNumber } = await chain.addDelegate(wallet as Address, delegate as Address);
    await eventually('a final block', async () => {
      return (await chain.client.getBlockNumber()) >= blockNumber + FINAL_BLOCKS;
    });
  },

  /** A user whom no test has had, with these funds. */
  async fundedUser(server: TestServer, micro: number): Promise<FundedUser> {
    const found = await chainOf(server.dataDir);
    return found.pool(micro).user(server, found.chain);
  },

  /** The administrator of a server there. */
  Admin: SettledAdmin,

  /** Throws unless everything has settled, and ledger and chain are equal in every balance. */
  async check(server: TestServer): Promise<void> {
    await settled(server.baseUrl);
    assert.deepEqual((await server.admin.failedTrades()).trades, [], 'trades that the chain has refused');
    const { settings } = (await chainOf(server.dataDir)).chain;
    const { lines, isEqual } = await reconcileChain(server.dataDir, settings['RPC_URL']!, false);
    assert.ok(isEqual, lines.join('\n'));
    console.log(`# ${lines.at(-1)}`);
  },
};

async function settled(baseUrl: string): Promise<void> {
  await eventually('all work has settled', async () => {
    const metrics = await (await fetch(`${baseUrl}/metrics`)).text();
    const open = metrics.matchAll(/^exchange_settlement_work\{status="(pending|submitted|mined)"\} (\d+)$/gm);
    const behind = /^exchange_settlement_behind_records (\d+)$/m.exec(metrics);
    return behind?.[1] === '0' && [...open].every(([, , count]) => count === '0');
  });
}

async function startAnvil(): Promise<Anvil> {
  const started = await Anvil.start({ chainId: CHAIN_ID, isQuick: true });
  started.unref();
  return started;
}

function chainOf(dataDir: string): Promise<ServerChain> {
  let found = chains.get(dataDir);
  if (found === undefined) {
    found = ServerChain.begin(`of server ${chains.size + 1}: `);
    chains.set(dataDir, found);
  }
  return found;
}

async function availableTo(server: TestServer, userId: string): Promise<number> {
  return Number((await server.admin.user(userId)).usdc.available);
}

function credited(server: TestServer, userId: string, micro: number): Promise<unknown> {
  return eventually(`${micro} for ${userId}`, async () => (await availableTo(server, userId)) === micro);
}
