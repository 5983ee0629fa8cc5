/** The connections that a door counts (RULES.md 6.9): requests, WebSockets, and what it turns away. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Door } from '../../../../gateway/http/door.ts';
import { eventually } from '../../../support/eventually.ts';

const WEB_SOCKET = { path: '/ws', behavior: {}, close: () => {} };

async function openDoor(t: TestContext, most: number): Promise<{ door: Door; port: number; closed: number[] }> {
  const closed: number[] = [];
  const door = new Door({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    webSocket: WEB_SOCKET,
    onOpened: (_, open) => open <= most,
    onClosed: (open) => closed.push(open),
    onRequest: (response, _request, upgrade) => {
      if (upgrade === null) response.cork(() => response.end('{}'));
      else response.upgrade({}, upgrade.key, upgrade.protocol, upgrade.extensions, upgrade.context);
    },
  });
  const port = await door.listen();
  t.after(() => {
    door.stopListening();
    door.close();
  });
  return { door, port, closed };
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

test('what is turned away is closed at once and counted no longer', async (t) => {
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
