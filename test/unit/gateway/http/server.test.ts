/** The server around its doors: scarce connections, connections of its fronts, and its end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ConnectionLimits, KeptFor } from '../../../../gateway/access/connectionLimits.ts';
import type { SessionPrincipal } from '../../../../gateway/base/principal.ts';
import { SCOPE } from '../../../../gateway/base/scopes.ts';
import type { SessionTokens } from '../../../../gateway/base/sessionTokens.ts';
import type { WebSocketEndpoint } from '../../../../gateway/http/door.ts';
import { ok, okArray } from '../../../../gateway/http/respond.ts';
import type { Route } from '../../../../gateway/http/route.ts';
import type { FrontServer, Fronts } from '../../../../gateway/http/server.ts';
import { SELF_TRADE } from '../../../../shared/base/codes.ts';
import { RequestSigner } from '../../../../shared/client/requestSigner.ts';
import { apiKey, credentialsOf } from '../../../support/apiKeys.ts';
import type { ClientRig } from '../../../support/clientRig.ts';
import { startEdge } from '../../../support/edgeRig.ts';
import { eventually } from '../../../support/eventually.ts';
import { freePort } from '../../../support/freePort.ts';
import { HttpRig } from '../../../support/httpRig.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { makeTransport, startTransport } from '../../../support/transportRig.ts';

test('a connection that was made before a stop, and not yet accepted, is answered', async (t) => {
  const rig = await HttpRig.start(t, { clock: new ManualClock(1_790_000_000_000) } as ClientRig, []);
  const socket = connect(rig.port, '127.0.0.1');
  // The socket connects in the next tick, and the system makes the connection at once. Who would accept it is here.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  const stopped = rig.server.stop(1000);
  socket.write('GET /v1/markets HTTP/1.1\r\nHost: test\r\n\r\n');
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /^HTTP\/1\.1 [45]/);
  await stopped;
  socket.destroy();
});

async function statusOf(port: number, path: string): Promise<number | 'refused'> {
  return fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => 'refused',
  );
}

test('until the port opens administrators alone are answered', async (t) => {
  const port = await freePort();
  const config = { host: '127.0.0.1', port, tls: null, trustProxy: null };
  const server = makeTransport({ config, adminDoor: { host: '127.0.0.1', port: 0, tls: null } });
  t.after(async () => void (await server.http.stop(0)));
  server.isReady = false;
  await server.http.begin();
  const adminPort = server.http.adminPort!;
  assert.equal(await statusOf(adminPort, '/health'), 200);
  assert.equal(await statusOf(adminPort, '/v1/time'), 503, 'nothing but probes');
  assert.equal(await statusOf(port, '/health'), 'refused');
  server.isReady = true;
  assert.equal(await server.http.listen(), port);
  assert.equal(server.http.adminPort, adminPort);
  assert.equal(await statusOf(port, '/v1/time'), 200);
});

test('a balancer that asks is told before the port closes, and nobody else is waited for', async (t) => {
  const server = await startTransport();
  const { http, port, clock } = server;
  assert.equal(await statusOf(port, '/health'), 200);
  const stopped = http.stop(60_000);
  for (let again = 0; again < 3; again++) assert.equal(await statusOf(port, '/v1/time'), 200, 'the port is still open');
  assert.equal(await stopped, true);
  assert.equal(await statusOf(port, '/v1/time'), 'refused');
  const other = await startTransport({ clock });
  t.after(async () => void (await other.http.stop(0)));
  assert.equal(await statusOf(other.port, '/health'), 200);
  clock.advance(10_000);
  const ended = other.http.stop(60_000);
  await nextTurn();
  await nextTurn();
  await nextTurn();
  assert.equal(await statusOf(other.port, '/v1/time'), 'refused');
  await ended;
});

/** Limits in a state that the test chooses. */
function crowd(state: { isCrowded: boolean; keptFor: KeptFor; excess?: number }) {
  const closedAnonymous: number[] = [];
  const limits = {
    signed: { isDue: () => false, note: () => undefined },
    get isCrowded() {
      return state.isCrowded;
    },
    get excess() {
      return state.excess ?? 0;
    },
    refused: 0,
    admits: () => true,
    closed: () => undefined,
    keptFor: () => state.keptFor,
    isShared: () => false,
    tick: async () => undefined,
  } as unknown as ConnectionLimits;
  const webSocket: WebSocketEndpoint = {
    path: '/ws',
    behavior: {},
    close: () => undefined,
    closeAnonymous: (count: number) => void closedAnonymous.push(count),
  };
  return { limits, webSocket, closedAnonymous };
}

test('in a crowd an answer ends the connection of a sender who has not signed', async (t) => {
  const state = { isCrowded: false, keptFor: 'everyone' as KeptFor };
  const { limits } = crowd(state);
  const open: Route = {
    method: 'GET',
    path: '/open',
    summary: '',
    access: 'public',
    limit: 'unlimited',
    answers: {},
    handler: (call) => ok(call, {}),
  };
  const key = apiKey(1);
  const edge = await startEdge(t, [open], [key], { connectionLimits: limits });
  const signer = new RequestSigner(credentialsOf(key), edge.clock);
  /** The answer says whether the server keeps the connection. */
  const isKept = async (headers: Record<string, string> = {}): Promise<boolean> => {
    const { status, headers: answered } = await edge.send('GET', '/open', {
      headers: { connection: 'keep-alive', ...headers },
    });
    assert.equal(status, 200);
    return answered['keep-alive'] === 'timeout=8';
  };
  const signed = () => signer.headers('GET', '/open', '');
  assert.deepEqual([await isKept(), await isKept(signed())], [true, true]);
  state.isCrowded = true;
  state.keptFor = 'signers';
  assert.deepEqual([await isKept(), await isKept(signed())], [false, true]);
  state.keptFor = 'nobody';
  assert.deepEqual([await isKept(), await isKept(signed())], [false, false]);
  state.keptFor = 'everyone';
  assert.equal(await isKept(), true);
});

/** A crowd, and a route whose answer has this many rows of this many characters. */
async function startCrowded(t: TestContext, rows: number, rowLength: number) {
  const body = Array.from({ length: rows }, (_, row) => ({ row: String(row).padEnd(rowLength, '-') }));
  const long: Route = {
    method: 'GET',
    path: '/long',
    summary: '',
    access: 'public',
    limit: 'unlimited',
    answers: {},
    handler: (call) => okArray(call, body),
  };
  const { limits } = crowd({ isCrowded: true, keptFor: 'nobody' });
  const edge = await startEdge(t, [long], [], { connectionLimits: limits });
  return { edge, body };
}

const ASK = 'GET /long HTTP/1.1\r\nHost: test\r\n\r\n';

test('a long answer that is the last on its connection is whole, and closes it (6.12)', async (t) => {
  const { edge, body } = await startCrowded(t, 1000, 20);
  const socket = connect(edge.port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (part) => {
    text += part;
    // If the connection stays open, this is answered as well; otherwise the write may fail.
    if (/\](?:\r\n0\r\n\r\n)?$/.test(text)) socket.write(ASK);
    if (text.split('HTTP/1.1 200').length > 2) socket.destroy();
  });
  socket.on('error', () => {});
  socket.write(ASK);
  await new Promise((resolve) => socket.once('close', resolve));
  const [head, ...bodies] = text.split('\r\n\r\n');
  assert.match(head, /\r\nConnection: close\r\n/);
  assert.match(head, /\r\nContent-Length: \d+$/);
  assert.deepEqual(
    bodies.map((sent) => JSON.parse(sent)),
    [body],
  );
});

test('one that is too long to be collected is whole in chunks, and says in its head that it is the last', async (t) => {
  const { edge, body } = await startCrowded(t, 1000, 500);
  const answer = await edge.send('GET', '/long', { headers: { connection: 'keep-alive' } });
  const { connection, 'keep-alive': kept, 'transfer-encoding': coding } = answer.headers;
  assert.deepEqual([answer.status, connection, kept, coding], [200, 'close', undefined, 'chunked']);
  assert.deepEqual(answer.body, body);
});

test('the last answer on a connection is whole for a client that begins to read late', async (t) => {
  for (const rowLength of [50, 20_000]) {
    const { edge, body } = await startCrowded(t, 1000, rowLength);
    const outgoing = request({ host: '127.0.0.1', port: edge.port, path: '/long', agent: false }).end();
    const [incoming] = await once(outgoing, 'response');
    incoming.pause();
    let pieces = -1;
    await eventually('an answer that nobody reads stands still', async () => {
      const before = pieces;
      pieces = edge.server.longAnswers.pieces;
      return pieces === before;
    });
    let text = '';
    for await (const part of incoming) text += part;
    assert.deepEqual(JSON.parse(text), body, `rows of ${rowLength}`);
  }
});

test('6.12: a key earns its address connections in reserve; a session, which anyone opens, does not', async (t) => {
  const noted: unknown[] = [];
  const { limits } = crowd({ isCrowded: true, keptFor: 'signers' });
  Object.assign(limits, { signed: { isDue: () => true, note: (signer: unknown) => noted.push(signer) } });
  const open: Route = {
    method: 'GET',
    path: '/open',
    summary: '',
    access: 'read:account',
    limit: 'unlimited',
    answers: {},
    handler: (call) => ok(call, {}),
  };
  const principal: SessionPrincipal = {
    kind: 'session',
    sessionId: 's',
    accountIndex: 2,
    userId: 'ann',
    scopes: SCOPE['read:account'],
    selfTradePrevention: SELF_TRADE.NONE,
    authenticatedAtMs: 0,
  };
  const sessions: SessionTokens = {
    admit: () => ({ principal, isVerified: true }),
    verify: async () => true,
    isInForce: () => true,
  };
  const key = apiKey(1, { scopes: SCOPE['read:account'] });
  const edge = await startEdge(t, [open], [key], { connectionLimits: limits, sessions });
  const headers = { connection: 'keep-alive', authorization: 'Bearer token' };
  const ofSession = await edge.send('GET', '/open', { headers });
  assert.deepEqual([ofSession.status, ofSession.headers['keep-alive'], noted], [200, 'timeout=8', []]);
  const signer = new RequestSigner(credentialsOf(key), edge.clock);
  assert.equal((await edge.send('GET', '/open', { headers: { ...signer.headers('GET', '/open', '') } })).status, 200);
  assert.deepEqual(noted, [1]);
});

test('in a crowd a connection without a request is closed after two seconds', async (t) => {
  const state = { isCrowded: true, keptFor: 'everyone' as KeptFor, excess: 3 };
  const { limits, webSocket, closedAnonymous } = crowd(state);
  const edge = await startEdge(t, [], [], { connectionLimits: limits, webSocket });
  const silent = connect(edge.port, '127.0.0.1');
  await once(silent, 'connect');
  let isClosed = false;
  silent.once('close', () => {
    isClosed = true;
  });
  await eventually('a look at the crowd', async () => closedAnonymous.length > 0);
  assert.equal(closedAnonymous[0], 3);
  edge.clock.advance(1999);
  await eventually('another look', async () => closedAnonymous.length > 2);
  assert.equal(isClosed, false);
  edge.clock.advance(1);
  await eventually('the end of the silent connection', async () => isClosed);
});

/** Front threads in a state that the test chooses. */
function threads() {
  const allowed: boolean[] = [];
  const ending: (() => void)[] = [];
  let server: FrontServer | undefined;
  const fronts: Fronts = {
    connections: 3,
    start: async (given) => {
      server = given;
    },
    reloadTls: async () => undefined,
    settle: async () => undefined,
    calm: () => undefined,
    allowReads: (isAllowed) => void allowed.push(isAllowed),
    close: () => new Promise((resolve) => ending.push(resolve)),
  };
  return { fronts, allowed, ending, opens: () => server!.opened(Uint8Array.of(127, 0, 0, 1)) };
}

test('fronts answer by themselves while there is room and no stop; their connections are open ones, too', async (t) => {
  const state: { isCrowded: boolean; keptFor: KeptFor } = { isCrowded: false, keptFor: 'everyone' };
  const { fronts, allowed, ending, opens } = threads();
  const { server } = await startEdge(t, [], [], { fronts, connectionLimits: crowd(state).limits });
  assert.deepEqual([server.connections, server.ownConnections], [3, 0]);
  for (const isCrowded of [false, true, false]) {
    state.isCrowded = isCrowded;
    assert.equal(opens(), isCrowded ? 'WATCHED' : 'ADMITTED');
    assert.equal(allowed.at(-1), !isCrowded);
  }
  let isStopped = false;
  const stopped = server.stop(1000).then(() => {
    isStopped = true;
  });
  assert.equal(allowed.at(-1), false);
  opens();
  assert.equal(allowed.at(-1), false, 'also when one more connection comes');
  await eventually('the fronts are asked to end', async () => ending.length > 0);
  await nextTurn();
  assert.equal(isStopped, false, 'what they have answered may not have left');
  ending.pop()!();
  await stopped;
  // The rig stops it once more.
  fronts.close = async () => undefined;
});
