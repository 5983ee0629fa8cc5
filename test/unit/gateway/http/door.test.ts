/** The connections that a door counts (RULES.md 6.9): requests, WebSockets, and refused ones. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Door } from '../../../../gateway/http/door.ts';
import { makeCertificate } from '../../../support/certificate.ts';
import { eventually } from '../../../support/eventually.ts';

const WEB_SOCKET = { path: '/ws', behavior: {}, close: () => {} };

async function openDoor(
  t: TestContext,
  most: number,
  tls: { certFile: string; keyFile: string } | null = null,
  port = 0,
): Promise<{ door: Door; port: number; closed: number[] }> {
  const closed: number[] = [];
  const door = new Door({
    host: '127.0.0.1',
    port,
    tls,
    webSocket: WEB_SOCKET,
    onOpened: (_, open) => open <= most,
    onClosed: (open) => closed.push(open),
    onRequest: (response, _request, upgrade) => {
      if (upgrade === null) response.cork(() => response.end('{}'));
      else response.upgrade({}, upgrade.key, upgrade.protocol, upgrade.extensions, upgrade.context!);
    },
  });
  const used = await door.listen();
  t.after(() => {
    door.stopListening();
    door.close();
  });
  return { door, port: used, closed };
}

test('a WebSocket is one connection while it is open, and none once it has closed', async (t) => {
  const { door, port } = await openDoor(t, 10);
  for (let count = 0; count < 3; count++) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`);
    await once(socket, 'open');
    assert.equal(door.connections, 1);
    socket.close();
    await once(socket, 'close');
    await eventually('the close', async () => door.connections === 0);
  }
});

test('a refused connection is closed at once and no longer counted', async (t) => {
  const { door, port, closed } = await openDoor(t, 1);
  const kept = connect(port, '127.0.0.1');
  t.after(() => kept.destroy());
  await once(kept, 'connect');
  const refused = connect(port, '127.0.0.1').on('error', () => {});
  refused.resume();
  await once(refused, 'close');
  assert.equal(door.connections, 1);
  assert.deepEqual(closed, [1]);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('new connections get a certificate that was replaced, open ones keep theirs; a bad one is not used', async (t) => {
  const [first, second] = [makeCertificate(), makeCertificate()];
  const used = makeCertificate();
  const use = ({ cert, key }: typeof used): void => {
    copyFileSync(cert, used.cert);
    copyFileSync(key, used.key);
  };
  use(first);
  const files = { certFile: used.cert, keyFile: used.key };
  const { door: elsewhere } = await openDoor(t, 10, files);
  await assert.rejects(elsewhere.reloadTls(), { name: 'ConfigError', message: /^PORT: / });
  const { door, port } = await openDoor(t, 10, files, await freePort());
  const dial = async (): Promise<TLSSocket> => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  const answers = async (socket: TLSSocket): Promise<boolean> => {
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [chunk] = await once(socket, 'data');
    return String(chunk).startsWith('HTTP/1.1 200');
  };
  const certificateOf = (socket: TLSSocket): string => socket.getPeerX509Certificate()!.toString().trim();
  const textOf = ({ cert }: typeof used): string => readFileSync(cert, 'utf8').trim();

  const before = await dial();
  assert.equal(certificateOf(before), textOf(first));
  writeFileSync(used.cert, 'no certificate');
  await assert.rejects(door.reloadTls(), { name: 'ConfigError' });
  assert.equal(certificateOf(await dial()), textOf(first));
  use(second);
  await door.reloadTls();
  const after = await dial();
  assert.equal(certificateOf(after), textOf(second));
  assert.ok((await answers(before)) && (await answers(after)));
  assert.equal(door.connections, 3, 'those of every certificate are counted');
  use(first);
  await door.reloadTls();
  assert.equal(certificateOf(await dial()), textOf(first), 'as often as needed');
});
