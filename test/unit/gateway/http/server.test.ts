import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { ClientRig } from '../../../support/clientRig.ts';
import { HttpRig } from '../../../support/httpRig.ts';
import { ManualClock } from '../../../support/manualClock.ts';

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
