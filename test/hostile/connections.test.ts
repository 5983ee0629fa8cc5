/**
 * Attack: a stranger holds every connection that he gets, from one address and then from many, without a key and
 * without ever spending a rate limit (RULES.md 6.12).
 */
import assert from 'node:assert/strict';
import { Agent, get, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { makeTrader } from '../support/traders.ts';
import { measureVictim } from '../support/victim.ts';

const TOTAL = timesOf({ suite: 100, soak: 2000 });
const PER_ADDRESS = TOTAL / 10;
const HALF = TOTAL / 2;
const FREE_FOR_ALL = TOTAL - TOTAL / 10;
const ATTACK_MS = timesOf({ suite: 500, soak: 20_000 });
const SAMPLES = timesOf({ suite: 10, soak: 200 });
const HEALTH = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';

const server = await startServer(fileScope, {
  SHARDS: '1',
  RATE_LIMITS: 'on',
  MAX_CONNECTIONS: String(TOTAL),
  CONNECTIONS_PER_IP: String(PER_ADDRESS),
  NEW_CONNECTIONS_PER_IP: '1000000',
  ADMIN_PORT: '0',
});
const { hostname, port } = new URL(server.baseUrl);

/** Connections of one address that are open as far as its owner knows; closed ones are opened again. */
class Attacker {
  readonly #address: string;
  readonly open = new Set<Socket>();
  #isOver = false;

  constructor(address: string) {
    this.#address = address;
  }

  /** Opens a connection and keeps it alive by a request without a limit, until it is closed. */
  async hold(): Promise<boolean> {
    const socket = connect({ host: hostname, port: Number(port), localAddress: this.#address });
    this.#track(socket);
    const isAnswered = new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true)).once('close', () => resolve(false));
    });
    socket.write(HEALTH);
    return isAnswered;
  }

  /** A connection that says nothing. */
  async squat(): Promise<void> {
    const socket = connect({ host: hostname, port: Number(port), localAddress: this.#address });
    this.#track(socket);
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  }

  /** Opens closed connections again. */
  async squatOn(count: number): Promise<void> {
    while (!this.#isOver) {
      const missing = Math.max(count - this.open.size, 1);
      await Promise.all(Array.from({ length: missing }, () => this.squat()));
      await new Promise(setImmediate);
    }
  }

  #track(socket: Socket): void {
    this.open.add(socket);
    socket.on('error', () => {}).on('close', () => this.open.delete(socket));
  }

  leave(): void {
    this.#isOver = true;
    for (const socket of this.open) socket.destroy();
  }
}

/** The headers of the answer to a request on a connection of its own, or null when it was not let in. */
async function ask(
  localAddress: string,
  headers: Record<string, string> = {},
  agent?: Agent,
): Promise<IncomingHttpHeaders | null> {
  const own = agent ?? new Agent({ keepAlive: true });
  const answer = new Promise<IncomingHttpHeaders | null>((resolve) => {
    const options = { host: hostname, port, path: '/health', headers, localAddress, agent: own };
    const sent = get(options, (response) => {
      assert.equal(response.statusCode, 200);
      response.resume().on('end', () => resolve(response.headers));
    });
    sent.on('error', () => resolve(null));
  });
  return answer.finally(() => agent ?? own.destroy());
}

const trader = await makeTrader(server);
/** A route without a limit also for a key. */
const signed = (): Record<string, string> => trader.client.prepareSigned('GET', '/health').headers;
const askAsTrader = (agent?: Agent): Promise<IncomingHttpHeaders | null> => ask('127.0.0.1', signed(), agent);
/** From now on the address of the trader is known by a signature. */
assert.ok(await askAsTrader());

async function connections(): Promise<number> {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const text = await (await fetch(`${server.adminUrl}/metrics`, { headers })).text();
  return Number(/\nexchange_connections (\d+)/.exec(text)![1]);
}

/** Clients that have left are gone. */
const hasRoom = (): Promise<boolean> => eventually('room', async () => (await connections()) < HALF / 2);

test('one address that holds all it gets leaves half of all connections to others', async (t) => {
  const attacker = new Attacker('127.0.0.2');
  t.after(() => attacker.leave());
  let held = 0;
  for (let count = 0; count < TOTAL; count++) if (await attacker.hold()) held++;
  assert.ok(held >= HALF - 1 && held <= HALF + PER_ADDRESS, `${held} of ${TOTAL}`);
  assert.ok(await ask('127.0.0.3'));
  assert.ok(await askAsTrader());
  assert.equal((await fetch(`${server.adminUrl}/health`)).status, 200);
});

test('in a crowd an answer is the last on its connection, unless the request was signed', async (t) => {
  const attacker = new Attacker('127.0.0.4');
  t.after(() => attacker.leave());
  await hasRoom();
  for (let count = 0; count <= HALF + 1; count++) await attacker.hold();
  assert.equal((await ask('127.0.0.5', {}))!.connection, 'close');
  assert.equal((await askAsTrader())!.connection, undefined);
});

test('many addresses that hold all they get leave the reserve to those who have signed', async (t) => {
  const attackers = Array.from({ length: 12 }, (_, index) => new Attacker(`127.0.1.${index + 1}`));
  t.after(() => {
    for (const attacker of attackers) attacker.leave();
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  await measureVictim(t, {
    samples: SAMPLES,
    send: async () => assert.ok(await askAsTrader(agent)),
    attack: async () => {
      const squatting = attackers.map((attacker) => attacker.squatOn(PER_ADDRESS));
      await eventually('a crowd', async () => (await connections()) >= FREE_FOR_ALL - 1);
      assert.equal(await ask('127.0.2.1'), null, 'the reserve is not for strangers');
      assert.ok(await askAsTrader(), 'but for a trader');
      await new Promise((resolve) => setTimeout(resolve, ATTACK_MS));
      for (const attacker of attackers) attacker.leave();
      await Promise.all(squatting);
    },
  });
});

test('beside a port of their own, administrators are unknown at the port of everyone', async () => {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  for (const path of ['/admin/ledger', '/metrics', '/admin/platform/pause']) {
    const status = new Promise((resolve) => get({ hostname, port, path, headers }, (got) => resolve(got.statusCode)));
    assert.equal(await status, 404, path);
  }
  assert.equal((await server.admin.ledger()).balanced, true);
});
