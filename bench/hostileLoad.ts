/**
 * Process entry of the hostile bench: one attacker, who goes on until the process ends. It reports when the attack has
 * begun, and asks for nothing that a stranger or an account without privileges could not ask for.
 */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { type Credentials, RequestSigner } from '../shared/client/request.ts';
import type { PlacementBody } from '../shared/client/types.ts';

export type Attack = 'none' | 'connections' | 'open orders' | 'bad signatures' | 'replays';
export type AttackOptions = {
  readonly attack: Attack;
  readonly baseUrl: string;
  readonly credentials: Credentials;
  readonly marketId: string;
  /** A signed order; with another salt its signature is wrong. */
  readonly order: PlacementBody;
};

const LOOPS = 20;
const CONNECTIONS = 3000;
const BATCH = 15;
/** A refused attacker asks again, but not so fast that the bench measures its own process. */
const PAUSE_MS = 2;

let salt = 0;

async function send({ baseUrl, credentials }: AttackOptions, method: string, path: string, body = ''): Promise<void> {
  const headers = { ...new RequestSigner(credentials).headers(method, path, body) };
  const response = await fetch(baseUrl + path, { method, headers, ...(body === '' ? {} : { body }) });
  await response.arrayBuffer();
  await sleep(PAUSE_MS);
}

/** All open orders, the whole book order by order, and searches of the history that find nothing. */
async function read(options: AttackOptions, loop: number): Promise<void> {
  const paths = [
    `/v1/orders/open/${options.marketId}`,
    `/v1/orders/book/${options.marketId}?l3=1&both=1&levels=100`,
    '/v1/user/orders/v2?limit=200&status=expired',
  ];
  for (let turn = loop; ; turn++) await send(options, 'GET', paths[turn % paths.length]!);
}

async function placeWrongly(options: AttackOptions): Promise<void> {
  const { signature, ...signed } = options.order;
  for (;;) {
    const orders = Array.from({ length: BATCH }, () => ({ ...signed, salt: String(++salt), signature }));
    await send(options, 'POST', '/v1/orders/batch', JSON.stringify({ orders }));
  }
}

/** Holds as many connections as it gets, and opens each again that is closed. */
function hold(baseUrl: string): void {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const request = (): boolean => socket.write('GET /health HTTP/1.1\r\nHost: bench\r\n\r\n');
  const repeating = setInterval(request, 5000);
  socket.on('connect', request);
  socket.on('data', () => undefined);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(repeating);
    setTimeout(hold, 1000, baseUrl);
  });
}

/** Asks for every frame of the market again as soon as it has them. */
function replay(options: AttackOptions): void {
  const { baseUrl, marketId } = options;
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/ws`, { perMessageDeflate: false });
  const say = (channel: string, data: object): void => socket.send(JSON.stringify({ channel, data }));
  const ask = (): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    say('unsubscribe', { markets: [marketId] });
    say('subscribe', { markets: [marketId], from_sequence: { [marketId]: 0 } });
  };
  let repeating: NodeJS.Timeout | undefined;
  socket.on('open', () => {
    repeating = setInterval(ask, 150);
  });
  socket.on('message', () => undefined);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(repeating);
    setTimeout(replay, 1000, options);
  });
}

async function attack(options: AttackOptions): Promise<void> {
  const loops = Array.from({ length: LOOPS }, (_, loop) => loop);
  switch (options.attack) {
    case 'connections':
      for (let count = 0; count < CONNECTIONS; count++) hold(options.baseUrl);
      break;
    case 'open orders':
      await Promise.all(loops.map((loop) => read(options, loop)));
      break;
    case 'bad signatures':
      await Promise.all(loops.map(() => placeWrongly(options)));
      break;
    case 'replays':
      for (const _ of loops) replay(options);
      break;
    default:
  }
}

process.on('message', (options: AttackOptions) => {
  process.send!('begun');
  void attack(options);
});
