/**
 * What does a client get? The whole server as `npm start` runs it, over HTTP: signed orders and cancels per second,
 * each acknowledged after its commit. Server and client share the machine, so the figure that travels to other
 * machines is the ratio to bare native key recovery, measured on one otherwise idle core in the same minute.
 */
import { createVerifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/assert.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/hex.ts';
import { createKeccak } from '../shared/keccak.ts';
import { draftOrder, OrderSigner } from '../shared/sdk/order.ts';
import { startServer } from '../test/support/server.ts';
import type { LoadOptions, LoadResult } from './gatewayLoad.ts';
import type { LoadTarget } from './loadClient.ts';
import { FEE_BPS, makeTarget, PRIVATE_KEY, runClient } from './loadTarget.ts';
import { atLeast, type Report, type Row, STOLEN } from './report.ts';

const ROUNDS = 4;
const REQUESTS = 8000;
const CONNECTIONS = 32;
const RECOVER_SECONDS = 1;

const LEAST_RATIO = 0.5;

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  try {
    const server = await startServer({ after: (cleanUp) => cleanUps.push(cleanUp) }, { SHARDS: '', LOG_LEVEL: 'info' });
    const target = await makeTarget(server);
    const options: LoadOptions = { ...target, rounds: ROUNDS, requests: REQUESTS, connections: CONNECTIONS };
    const before = await recoveriesPerSecond(target);
    const results = await runClient<LoadOptions, LoadResult>('./gatewayLoad.ts', options);
    const after = await recoveriesPerSecond(target);
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

/** The same check the shard makes, in a loop on this thread. */
async function recoveriesPerSecond({ market, domain }: LoadTarget): Promise<number> {
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
