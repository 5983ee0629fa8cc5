/**
 * How fast is the server if the native library does not load? The whole server with signatures checked in TypeScript,
 * over HTTP: orders of many signers, whose keys are recovered one by one, and of one frequent signer, for whom a
 * verifier thread makes a table that the shard uses as well. For comparison the same recovery alone, on one core, in
 * the same run.
 */
import { assert } from '../shared/base/assert.ts';
import { OrderSigner } from '../shared/client/orderSigner.ts';
import { type Scope, startServer, type TestServer } from '../test/support/server.ts';
import type { LoadOptions, LoadResult, LoadTask } from './gatewayLoad.ts';
import type { LoadSigner, LoadTarget } from './loadClient.ts';
import { makeSigner, makeTarget, runClient } from './loadTarget.ts';
import { atLeast, type Report, type Row, STOLEN } from './report.ts';

const ROUNDS = 2;
const RECOVER_SECONDS = 1.5;
const CONNECTIONS = 32;
/** Each signer has fewer orders than the number at which a verifier makes a table. */
const SIGNERS = 60;
const ORDERS_EACH = 5;
const OFTEN = 1200;

const LEAST_RATIO = 1.5;
const LEAST_OFTEN_RATIO = 3;

const ROUND: readonly LoadTask[] = [
  { kind: 'recover', seconds: RECOVER_SECONDS, verifier: 'noble' },
  { kind: 'place, many signers', requests: SIGNERS * ORDERS_EACH },
  { kind: 'place', requests: OFTEN },
];

export async function run(): Promise<Report> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope: Scope = { after: (cleanUp) => void cleanUps.push(cleanUp) };
  try {
    const server = await startServer(scope, { SHARDS: '', LOG_LEVEL: 'info', VERIFIER: 'noble' });
    const target = await makeTarget(server);
    const results = await runClient<LoadOptions, LoadResult>('./gatewayLoad.ts', {
      ...target,
      signers: await makeSigners(server, target),
      connections: CONNECTIONS,
      tasks: Array.from({ length: ROUNDS }, () => ROUND).flat(),
      serverPid: server.pid,
    });
    assert(
      results.every(({ refused }) => refused === 0),
      'verifiers: every order is taken',
    );
    return describe(results);
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

function makeSigners(server: TestServer, { domain }: LoadTarget): Promise<LoadSigner[]> {
  const keys = Array.from({ length: SIGNERS }, (_, index) => `0x${(index + 1).toString(16).padStart(64, '0')}`);
  return Promise.all(keys.map((privateKey) => makeSigner(server, new OrderSigner(privateKey, domain), privateKey)));
}

function describe(results: readonly LoadResult[]): Report {
  const rounds = Array.from({ length: ROUNDS }, (_, round) => results.slice(round * ROUND.length));
  const best = (task: number) => Math.max(...rounds.map((round) => round[task].perSecond / round[0].perSecond));
  return {
    bench: 'verifiers',
    settings:
      `VERIFIER=noble, ${SIGNERS} signers with ${ORDERS_EACH} orders each a round, one with ${OFTEN}, ` +
      `${CONNECTIONS} connections, synchronous FULL, client on the same machine; ratios are those of the best round`,
    rows: results.map((result, index) => rowOf(1 + Math.floor(index / ROUND.length), result)),
    goals: [
      atLeast('signed orders/s to bare noble recovery', best(1), LEAST_RATIO),
      atLeast('the same of a signer who comes often', best(2), LEAST_OFTEN_RATIO),
    ],
  };
}

function rowOf(round: number, { kind, perSecond, p50Us, p99Us, processorUs, stolen }: LoadResult): Row {
  return {
    task: `${round}, ${kind === 'recover' ? 'bare noble recovery' : kind}`,
    'per second': perSecond,
    'p50 us': p50Us,
    'p99 us': p99Us,
    'server processor us': processorUs ?? '',
    [STOLEN]: stolen,
  };
}
