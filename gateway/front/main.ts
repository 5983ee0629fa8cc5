/**
 * A front thread: it has a part of the connections of the public port, and passes on what their clients send. HTTP, TLS
 * and the framing of WebSockets are its work; what a call means is decided in the gateway thread, which writes the
 * answer (lane.ts). It keeps no state but its connections, so it can be started again at any time.
 * Owner: the front thread.
 *
 *   client ──► door ──► calls, sockets ──fromFront──► gateway thread ──toFront──► calls, sockets ──► client
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../../shared/base/assert.ts';
import { ConfigError } from '../process/config.ts';
import { Front } from './front.ts';
import { END_WORDS, type FrontMessage, type FrontOptions, type FrontRequest } from './threadOptions.ts';

const EXIT_FAILURE = 1;

const options: FrontOptions = workerData;
const ending = new Int32Array(options.ending);
const port = parentPort!;
const front = new Front(options);
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
  if (!hasFailed) front.readAll();
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
  assert(request === 'stop' || request === 'reloadTls', 'front: a request is known');
  if (request === 'stop') void stop();
  else reloadTls();
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
