/** Connections without a request in a crowd (RULES.md 6.12): closed after two seconds, never once they have spoken. */

import type { HttpResponse } from 'uWebSockets.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SilentConnections } from '../../../../gateway/http/silentConnections.ts';

/** A connection that closes as uWebSockets.js does: its abort handler is called before `close` returns. */
class Peer {
  isClosed = false;
  #onAborted: () => void = () => {};
  readonly response = {
    onAborted: (handler: () => void) => {
      this.#onAborted = handler;
    },
    close: () => this.leave(),
  } as unknown as HttpResponse;

  leave(): void {
    assert.ok(!this.isClosed, 'a connection closes once');
    this.isClosed = true;
    this.#onAborted();
  }
}

test('a silent connection is closed after two seconds, the others stay', () => {
  const silent = new SilentConnections();
  const [first, second] = [new Peer(), new Peer()];
  silent.opened('a', first.response, 0);
  silent.opened('a', second.response, 1500);
  silent.closeOld(1999);
  assert.deepEqual([first.isClosed, second.isClosed], [false, false]);
  silent.closeOld(2000);
  assert.deepEqual([first.isClosed, second.isClosed, silent.size], [true, false, 1]);
});

test('a request of an address spares all its connections: it is not known which one it came on', () => {
  const silent = new SilentConnections();
  const [speaker, neighbour, other] = [new Peer(), new Peer(), new Peer()];
  silent.opened('a', speaker.response, 0);
  silent.opened('a', neighbour.response, 0);
  silent.opened('b', other.response, 0);
  silent.spoke('a');
  silent.closeOld(10_000);
  assert.deepEqual([speaker.isClosed, neighbour.isClosed, other.isClosed], [false, false, true]);
});

test('a closed connection is not touched again, and a request from an unknown address spares all connections', () => {
  const silent = new SilentConnections();
  const [left, stayed] = [new Peer(), new Peer()];
  silent.opened('a', left.response, 0);
  silent.opened('b', stayed.response, 0);
  left.leave();
  assert.equal(silent.size, 1);
  silent.spoke('');
  silent.closeOld(10_000);
  assert.deepEqual([stayed.isClosed, silent.size], [false, 0]);
});
