/**
 * A front thread: it has a part of the connections of the public port. HTTP, TLS and the framing of WebSockets are its
 * work, and public reads of a market, which it answers from views of its own (reads.ts). All else it passes on: what
 * such a call means is decided in the gateway thread, which writes the answer (lane.ts). It keeps no state but its
 * connections and copies, so it can be started again at any time.
 * Owner: the front thread.
 *
 *   client ──► door ──► calls, sockets ──fromFront──► gateway thread ──toFront──► calls, sockets ──► client
 *                └────► reads ◄── views ◄── event rings of the shards
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { ConfigError } from '../base/config.ts';
import { Cors } from '../http/cors.ts';
import { BusyRefusals } from './busy.ts';
import { Front } from './front.ts';
import { FrontRole } from './frontRole.ts';
import { FrontReads } from './reads.ts';
import { END_WORDS, type FrontMessage, type FrontOptions, type FrontRequest } from './threadOptions.ts';

const EXIT_FAILURE = 1;
/** For clients that read a long answer when the exchange stops. */
const LAST_ANSWERS_MS = 2000;

const options: FrontOptions = workerData;
const ending = new Int32Array(options.ending);
const port = parentPort!;
const role = options.role && new FrontRole(options.role);
const cors = options.origins.length === 0 ? null : new Cors(options.origins);
const writeLine = (line: string): void => post({ line });
const reads = options.reads && new FrontReads(options.reads, options.isHttps, role, cors, writeLine, fail);
const front = new Front(options, new BusyRefusals(role, options.isHttps, cors), role, reads);
let hasFailed = false;

function post(message: FrontMessage): void {
  port.postMessage(message);
}

/** The event loop ends with none of its sockets open (FRONTS-2). */
async function closeAll(): Promise<void> {
  // Connections that were accepted for this thread before its app was removed.
  await nextTurn();
  await nextTurn();
  front.close();
  await nextTurn();
  await nextTurn();
}

/** The gateway thread removes the app of this one, and then asks it to stop. */
function fail(error: unknown): void {
  if (hasFailed) return;
  hasFailed = true;
  post({ failure: error instanceof Error ? error : new Error(String(error)) });
}

async function stop(): Promise<void> {
  if (!hasFailed) {
    front.readAll();
    await reads?.stop(LAST_ANSWERS_MS);
  }
  await closeAll();
  process.exit(hasFailed ? EXIT_FAILURE : 0);
}

function reloadTls(): void {
  try {
    post({ descriptor: front.renew() });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    post({ problem: error.message });
  }
}

function onMessage(request: FrontRequest): void {
  if (request === 'stop') void stop();
  else if (request === 'reloadTls') reloadTls();
  else {
    assert(reads !== null && (typeof request === 'object' || request === 'measure'), 'front: a request is known');
    if (request === 'measure') post({ measured: reads.image() });
    else if ('markets' in request) reads.add(request.markets);
    else reads.follow(request);
  }
}

async function closeAtExit(): Promise<void> {
  await closeAll();
  Atomics.store(ending, END_WORDS.closed, 1);
  Atomics.notify(ending, END_WORDS.closed);
}

process.on('uncaughtException', fail);
port.on('message', onMessage);
front
  .run(() => Atomics.load(ending, END_WORDS.asked) === 1)
  .then(closeAtExit)
  .catch(fail);
await front.prepare();
post({ descriptor: front.descriptor });
