/**
 * Process entry of the hostile bench: one attacker, who only sends requests that a stranger or an account without
 * privileges could send. It attacks the exchange until it is stopped, and then repeats its requests to a sink, at the
 * same moments and with answers of the same size.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import type { Credentials } from '../shared/client/credentials.ts';
import { RequestSigner } from '../shared/client/requestSigner.ts';
import type { PlacementBody } from '../shared/client/types.ts';
import { type PreparedRequest, sendFrom } from './hostileRequests.ts';
import { ANSWER_BYTES_HEADER, Trace } from './hostileTrace.ts';

export type Attack =
  | 'none'
  | 'connections'
  | 'open orders'
  | 'bad signatures'
  | 'replays'
  | 'rail cancellations'
  | 'searches';
type AttackOptions = {
  readonly attack: Attack;
  readonly baseUrl: string;
  readonly credentials: Credentials;
  readonly marketId: string;
  /** A signed order; with another salt its signature is wrong. */
  readonly order: PlacementBody;
  /** For an attack that consists of nothing else. */
  readonly prepared: readonly PreparedRequest[];
};
/** `note` begins a new trace, `play` repeats the last one. */
export type AttackCommand =
  | { readonly do: 'attack'; readonly options: AttackOptions }
  | { readonly do: 'note' }
  | { readonly do: 'stop' }
  | { readonly do: 'play'; readonly sinkUrl: string };
/** @param requests the number of requests in the trace so far. */
export type AttackReply = { readonly done: AttackCommand['do']; readonly requests: number };

/** Other addresses belong to bystanders. */
const ATTACKER = '127.0.3.1';
const LOOPS = 20;
const BATCH = 15;
/** A refused attacker tries again, but not so fast that the bench measures the attacker's own process. */
const PAUSE_MS = 2;
const ASK_AGAIN_MS = 150;
const ADDRESSES = 64;
const CONNECTIONS_EACH = 24;
const REOPEN_MS = 100;
const SETTLE_MS = 100;
const HEALTH = 'GET /health HTTP/1.1\r\nHost: bench\r\n\r\n';

let options: AttackOptions;
let trace = new Trace();
let salt = 0;
/** Every attack of this kind comes from another address, because one address may open only so many sockets a minute. */
let streamAddress = 0;
/** Set while an attack or its repetition runs; the next one has another object. */
let running: { isOver: boolean } = { isOver: true };
const ends = new Set<() => void>();

async function send(
  baseUrl: string,
  method: string,
  path: string,
  more: Record<string, string> = {},
  prepared?: PreparedRequest,
): Promise<number> {
  if (prepared !== undefined) {
    const headers = { ...prepared.headers, ...more };
    return (await sendFrom(ATTACKER, baseUrl, { ...prepared, headers })).bytes;
  }
  const body = method === 'POST' ? wrongBatch() : '';
  const headers = { ...new RequestSigner(options.credentials).headers(method, path, body), ...more };
  const response = await fetch(baseUrl + path, { method, headers, ...(body === '' ? {} : { body }) });
  return (await response.arrayBuffer()).byteLength;
}

function wrongBatch(): string {
  const orders = Array.from({ length: BATCH }, () => ({ ...options.order, salt: String(++salt) }));
  return JSON.stringify({ orders });
}

/** Reads all open orders, the whole book with its orders, and searches of the history that find nothing. */
async function read(run: typeof running, loop: number): Promise<void> {
  const paths = [
    `/v1/orders/open/${options.marketId}`,
    `/v1/orders/book/${options.marketId}?l3=1&both=1&levels=100`,
    '/v1/user/orders/v2?limit=200&status=expired',
  ];
  for (let turn = loop; !run.isOver; turn++) await ask('GET', paths[turn % paths.length]);
}

async function placeWrongly(run: typeof running): Promise<void> {
  while (!run.isOver) await ask('POST', '/v1/orders/batch');
}

async function repeat(run: typeof running, loop: number): Promise<void> {
  const { prepared } = options;
  for (let turn = loop; !run.isOver; turn += LOOPS) {
    const request = prepared[turn % prepared.length];
    await ask(request.method, request.path, request);
  }
}

/** A request without an answer is repeated as well: its connection was opened. */
async function ask(method: string, path: string, prepared?: PreparedRequest): Promise<void> {
  const { nowMs: atMs, asked } = trace;
  const answerBytes = await send(options.baseUrl, method, path, {}, prepared).catch(() => 0);
  asked.push({ atMs, method, path, answerBytes, prepared });
  await sleep(PAUSE_MS);
}

/** Opens a connection and every replacement for it; every second one sends a request first. */
function hold(run: typeof running, address: string, isAsking: boolean): void {
  if (run.isOver) return;
  let noted = trace;
  let atMs = trace.nowMs;
  const end = openConnection(options.baseUrl, address, isAsking, () => {
    ends.delete(end);
    // A connection that was open when the trace began is opened at its beginning when it is played.
    if (noted !== trace) [noted, atMs] = [trace, 0];
    noted.held.push({ atMs, forMs: trace.nowMs - atMs, address, isAsking });
    setTimeout(hold, REOPEN_MS, run, address, !isAsking);
  });
  ends.add(end);
}

/** @returns a function that closes it. */
function openConnection(baseUrl: string, localAddress: string, isAsking: boolean, onClose: () => void): () => void {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  if (isAsking) socket.write(HEALTH);
  socket.on('data', () => undefined);
  socket.on('error', () => undefined);
  socket.on('close', onClose);
  return () => void socket.destroy();
}

/** Requests every frame of the market again as soon as it has them. */
function replay(run: typeof running, index: number): void {
  if (run.isOver) return;
  const { baseUrl, marketId } = options;
  const socket = openSocket(baseUrl);
  let [frames, bytes] = [0, 0];
  const say = (channel: string, data: object): void => socket.send(JSON.stringify({ channel, data }));
  const repeating = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    trace.streamed.push({ atMs: trace.nowMs, socket: index, frames, bytes });
    [frames, bytes] = [0, 0];
    say('unsubscribe', { markets: [marketId] });
    say('subscribe', { markets: [marketId], from_sequence: { [marketId]: 0 } });
  }, ASK_AGAIN_MS);
  socket.on('message', (frame: Buffer) => {
    frames++;
    bytes += frame.length;
  });
  socket.on('close', () => {
    clearInterval(repeating);
    setTimeout(replay, 1000, run, index);
  });
}

function openSocket(baseUrl: string): WebSocket {
  const localAddress = `127.0.2.${streamAddress}`;
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/ws`, { perMessageDeflate: false, localAddress });
  socket.on('error', () => undefined);
  ends.add(() => socket.terminate());
  return socket;
}

function attack(run: typeof running): void {
  for (let loop = 0; loop < LOOPS; loop++) {
    if (options.attack === 'open orders') void read(run, loop);
    else if (options.attack === 'bad signatures') void placeWrongly(run);
    else if (options.attack === 'replays') replay(run, loop);
    else if (options.prepared.length > 0) void repeat(run, loop);
  }
  if (options.attack !== 'connections') return;
  for (let count = 0; count < ADDRESSES * CONNECTIONS_EACH; count++) {
    hold(run, `127.0.1.${1 + (count % ADDRESSES)}`, count % 2 === 0);
  }
}

/** Sends the same requests at the same moments. */
async function play(run: typeof running, played: Trace, sinkUrl: string): Promise<void> {
  const sockets = options.attack === 'replays' ? Array.from({ length: LOOPS }, () => openSocket(sinkUrl)) : [];
  for (const socket of sockets) socket.on('message', () => undefined);
  const steps: { readonly atMs: number; readonly repeat: () => void }[] = [];
  for (const { atMs, method, path, answerBytes, prepared } of played.asked) {
    const more = { [ANSWER_BYTES_HEADER]: String(answerBytes) };
    steps.push({ atMs, repeat: () => void send(sinkUrl, method, path, more, prepared).catch(() => undefined) });
  }
  for (const { atMs, forMs, address, isAsking } of played.held) {
    const repeat = (): void => {
      const end = openConnection(sinkUrl, address, isAsking, () => ends.delete(end));
      ends.add(end);
      setTimeout(end, forMs);
    };
    steps.push({ atMs, repeat });
  }
  for (const { atMs, socket, frames, bytes } of played.streamed) {
    const repeat = (): void => {
      if (sockets[socket].readyState === WebSocket.OPEN) sockets[socket].send(`${frames} ${bytes}`);
    };
    steps.push({ atMs, repeat });
  }
  steps.sort((a, b) => a.atMs - b.atMs);
  const startedMs = performance.now();
  for (const { atMs, repeat } of steps) {
    const earlyMs = startedMs + atMs - performance.now();
    if (earlyMs >= 1) await sleep(earlyMs);
    if (run.isOver) return;
    repeat();
  }
}

/** Resolves when the trace is complete. */
async function stop(): Promise<void> {
  running.isOver = true;
  for (const end of ends) end();
  ends.clear();
  await sleep(SETTLE_MS);
}

process.on('message', async (command: AttackCommand) => {
  if (command.do === 'attack') {
    options = command.options;
    streamAddress++;
    running = { isOver: false };
    attack(running);
  } else if (command.do === 'note') {
    trace = new Trace();
  } else if (command.do === 'stop') {
    await stop();
  } else {
    running = { isOver: false };
    const played = trace;
    trace = new Trace();
    void play(running, played, command.sinkUrl);
  }
  const reply: AttackReply = { done: command.do, requests: trace.length };
  process.send!(reply);
});
process.once('disconnect', () => process.exit(0));
