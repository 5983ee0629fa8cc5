/**
 * What does a client get? The whole server as `npm start` runs it, over HTTP: signed orders and cancels per second,
 * each acknowledged after its commit. Server and client share the machine, so the figure that travels to other
 * machines is the ratio to bare native key recovery, measured on one otherwise idle core in the same minute.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createVerifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/assert.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/hex.ts';
import { createKeccak } from '../shared/keccak.ts';
import { ExchangeClient } from '../shared/sdk/client.ts';
import { draftOrder, OrderSigner } from '../shared/sdk/order.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { makeMarket } from '../test/support/traders.ts';
import type { LoadOptions, LoadResult } from './gatewayLoad.ts';
import { atLeast, type Report, type Row, STOLEN } from './report.ts';

const ROUNDS = 4;
const REQUESTS = 8000;
const CONNECTIONS = 32;
const FEE_BPS = 50;
const PRIVATE_KEY = `0x${'22'.repeat(32)}`;
const DEPOSIT_MICRO = '1000000000000';
const RECOVER_SECONDS = 1;

const LEAST_RATIO = 0.5;

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const server = await startServer({ after: (cleanUp) => cleanUps.push(cleanUp) }, { SHARDS: '', LOG_LEVEL: 'info' });
    const options = await prepare(server);
    const before = await recoveriesPerSecond(options);
    const results = await load(options);
    const after = await recoveriesPerSecond(options);
    assert((await server.admin.ledger()).balanced, 'gateway: the money closes after the load');
    return describe(results, Math.max(before, after));
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
  }
}

function describe(results: readonly LoadResult[], recoveries: number): Report {
  const rows: Row[] = results.map((result, index) => ({
    round: `${1 + (index >>> 1)}, ${result.kind}`,
    'requests/s': result.perSecond,
    'ratio to recovery': result.perSecond / recoveries,
    'p50 us': result.p50Us,
    'p99 us': result.p99Us,
    refused: result.refused,
    [STOLEN]: result.stolen,
  }));
  const best = Math.max(...results.filter(({ kind }) => kind === 'place').map(({ perSecond }) => perSecond));
  rows.push({ round: 'bare native recovery', 'requests/s': recoveries, 'ratio to recovery': 1 });
  return {
    bench: 'gateway',
    settings:
      `${REQUESTS} requests a round, ${CONNECTIONS} keep-alive connections with one request in flight each, ` +
      'one account, ' +
      'one market, signed and authenticated ahead, synchronous FULL, client on the same machine',
    rows,
    goals: [atLeast('signed orders/s to bare native recovery', best / recoveries, LEAST_RATIO)],
  };
}

async function prepare(server: TestServer): Promise<LoadOptions> {
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
    rounds: ROUNDS,
    requests: REQUESTS,
    connections: CONNECTIONS,
  };
}

function load(options: LoadOptions): Promise<LoadResult[]> {
  const child = fork(fileURLToPath(new URL('./gatewayLoad.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const results: LoadResult[] = [];
  return new Promise((resolve, reject) => {
    child.on('message', (result) => results.push(result as LoadResult));
    child.once('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve(results) : reject(new Error(`the client ended with ${code}`))));
    child.send(options);
  });
}

/** The same check the shard makes, in a loop on this thread. */
async function recoveriesPerSecond({ market, domain }: LoadOptions): Promise<number> {
  const signer = new OrderSigner(PRIVATE_KEY, domain);
  const draft = draftOrder({ market, outcomeIndex: 0, side: 'BUY', price: '0.40', size: '10', feeRateBps: FEE_BPS });
  const { body, orderHash } = signer.sign(draft);
  const digest = Buffer.from(orderHash.slice(2), 'hex');
  const signature = Buffer.from(body.signature.slice(2), 'hex');
  const address = new Uint8Array(ADDRESS_BYTES);
  assert(tryParseHex(signer.address, ADDRESS_BYTES, address, 0), 'gateway: an address is hex');
  const verifier = createVerifier('native', await createKeccak());
  const start = performance.now();
  const end = start + RECOVER_SECONDS * 1000;
  let count = 0;
  while (performance.now() < end) {
    assert(verifier.verify(digest, 0, signature, 0, address, 0), 'gateway: a right signature is accepted');
    count++;
  }
  return (count / (performance.now() - start)) * 1000;
}
