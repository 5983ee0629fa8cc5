/**
 * Attack: strangers hold connections on a machine that allows the exchange fewer open files than MAX_CONNECTIONS. They
 * get as many as the files allow (RULES.md 6.9): the exchange can still open its own files, and clients that have
 * signed still get in.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually, within } from '../support/eventually.ts';
import { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { onWire, requestBytes, signedHeaders } from '../support/wire.ts';

const OPEN_FILES = 320;
const STRANGERS = 2 * OPEN_FILES;
const SNAPSHOT_EVERY = 5;
const ORDERS = 4 * SNAPSHOT_EVERY;

test('strangers never take the files that the exchange needs itself, nor the reserve of those who sign', async (t) => {
  if (process.platform !== 'linux') {
    t.skip('only Linux says how many files a process may open');
    return;
  }
  const server = new TestServer(temporaryDirectory(), '1');
  t.after(() => server.kill());
  const settings = { RATE_LIMITS: 'on', NEW_CONNECTIONS_PER_IP: '1000000', SNAPSHOT_EVERY: String(SNAPSHOT_EVERY) };
  await server.start({ ...settings, VERIFY_THREADS: '0', GATEWAYS: '1' }, [
    'sh',
    '-c',
    `ulimit -n ${OPEN_FILES}; exec "$0" "$@"`,
  ]);
  const market = await makeMarket(server);
  const trader = await makeTrader(server, { requestsPerSecond: 1000 });
  await trader.place(market, { price: '0.1', size: '1' });
  const port = Number(new URL(server.baseUrl).port);

  const open = new Set<Socket>();
  t.after(() => {
    for (const socket of open) socket.destroy();
  });
  for (let count = 0; count < STRANGERS; count++) {
    const socket = connect({ host: '127.0.0.1', port, localAddress: `127.0.1.${1 + (count % 200)}` });
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
    // Whoever is let in is answered, and the others are closed: nobody waits unheard.
    await within('an answer or the end', new Promise((resolve) => socket.once('data', resolve).once('close', resolve)));
  }
  assert.ok(open.size > 0 && open.size < OPEN_FILES / 2, `${open.size} strangers are in`);

  for (let count = 0; count < ORDERS; count++) {
    const body = Buffer.from(JSON.stringify(trader.body(market, { price: '0.1', size: '1' })));
    const headers = signedHeaders(trader.credentials, 'POST', '/v1/orders', body);
    const [answer] = await onWire(port, requestBytes('POST', '/v1/orders', headers, body), 'first');
    assert.equal(answer?.status, 200, 'on a connection of its own');
  }
  // The thread that writes them has to start first.
  const isSnapshot = (path: string): boolean => /snapshot-0-\d+\.bin$/.test(path);
  await eventually('a snapshot', async () =>
    readdirSync(server.dataDir, { encoding: 'utf8', recursive: true }).some(isSnapshot),
  );
  assert.ok(![...server.stdout, ...server.stderr].some((line) => line.includes('EMFILE')), server.stdout.join('\n'));
});
