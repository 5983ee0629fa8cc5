/** The rules by which a connection may be opened, and stay (RULES.md 6.9, 6.12). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { ConnectionLimits, WINDOW_SEC } from '../../../../gateway/access/connectionLimits.ts';
import { SignedAddresses } from '../../../../gateway/access/signedAddresses.ts';
import { countLine, holdersOf } from '../../../../gateway/access/socketTable.ts';
import { peerSubject } from '../../../../gateway/base/clientAddress.ts';
import { tryParseNetworks } from '../../../../gateway/base/networks.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const A = Uint8Array.of(203, 0, 113, 1);
const B = Uint8Array.of(203, 0, 113, 2);
const PROXY = Uint8Array.of(10, 0, 0, 1);
const PORT = 8080;

type Limits = { open: number; newInWindow: number };

function make(perAddress: Limits | null, total = 1000, holders: () => Map<string, number> | null = () => new Map()) {
  const clock = new ManualClock(1_790_000_000_000);
  const limits = new ConnectionLimits({
    total,
    perAddress,
    proxies: tryParseNetworks(['10.0.0.0/8']),
    holders: async () => holders(),
    clock,
  });
  return { clock, limits };
}

/** An address of the /64 that ends in these bytes. */
function ipv6(subnet: number, last: number): Uint8Array {
  const bytes = new Uint8Array(16);
  bytes.set([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, subnet]);
  bytes[15] = last;
  return bytes;
}

test('the total is a limit for everyone, proxies too', () => {
  const { limits } = make(null, 2);
  assert.deepEqual([limits.admits(A, 1), limits.admits(B, 2), limits.admits(PROXY, 3)], [true, true, false]);
  assert.equal(limits.refused, 1);
});

test('an address opens a bounded number of connections in a window, which does not delay others', () => {
  const { limits, clock } = make({ open: 1000, newInWindow: 3 });
  const opened = Array.from({ length: 4 }, (_, index) => limits.admits(A, index + 1));
  assert.deepEqual(opened, [true, true, true, false]);
  assert.ok(limits.admits(B, 5));
  clock.advance(WINDOW_SEC * 1000);
  assert.ok(limits.admits(A, 5));
});

test('a trusted proxy opens as many as it likes, and the addresses of one /64 count as one', () => {
  const { limits } = make({ open: 1000, newInWindow: 2 });
  for (let count = 1; count <= 10; count++) assert.ok(limits.admits(PROXY, count));
  assert.deepEqual(
    [1, 2, 3].map((last) => limits.admits(ipv6(1, last), 11)),
    [true, true, false],
  );
  assert.ok(limits.admits(ipv6(2, 1), 11));
});

test('up to half of all an address may hold everything, beyond that no more than its share', () => {
  const { limits } = make({ open: 5, newInWindow: 1000 }, 100);
  let open = 0;
  while (limits.admits(A, open + 1)) open++;
  assert.equal(open, 50);
  assert.ok(limits.isCrowded === true && limits.admits(B, open + 1));
});

test('an address holds the counted connections and those that it has opened since the count began', async () => {
  let held = new Map([[peerSubject(A), 3]]);
  const { limits, clock } = make({ open: 5, newInWindow: 1000 }, 100, () => held);
  assert.ok(limits.admits(A, 60));
  await limits.tick(PORT);
  assert.deepEqual([limits.admits(A, 61), limits.admits(A, 62), limits.admits(A, 63)], [true, true, false]);
  assert.equal(limits.keptFor(A), 'signers');
  held = new Map([[peerSubject(A), 6]]);
  clock.advance(1000);
  await limits.tick(PORT);
  assert.equal(limits.keptFor(A), 'nobody');
  assert.equal(limits.keptFor(B), 'signers');
  assert.equal(limits.keptFor(PROXY), 'everyone');
  held = new Map();
  clock.advance(1000);
  await limits.tick(PORT);
  assert.ok(limits.admits(A, 64), 'what has been closed counts no longer');
});

test('connections are counted again after a while, and later where a count takes long', async () => {
  const clock = new ManualClock(0);
  let counts = 0;
  let takesMs = 0;
  const limits = new ConnectionLimits({
    total: 100,
    perAddress: { open: 2, newInWindow: 1000 },
    proxies: null,
    holders: async () => {
      counts++;
      clock.advance(takesMs);
      return new Map();
    },
    clock,
  });
  limits.admits(A, 60);
  for (const [atMs, timeMs, expected] of [
    [0, 0, 1],
    [249, 0, 1],
    [250, 0, 2],
    [500, 100, 3],
    [1499, 0, 3],
    [1500, 0, 4],
  ] as const) {
    clock.advance(atMs - clock.nowMs());
    takesMs = timeMs;
    await limits.tick(PORT);
    assert.equal(counts, expected, `${atMs} ms`);
  }
});

test('CONNLIMIT-1: connections that open during a count are part of it', async () => {
  const counted = Promise.withResolvers<Map<string, number>>();
  const clock = new ManualClock(0);
  const limits = new ConnectionLimits({
    total: 100,
    perAddress: { open: 2, newInWindow: 1000 },
    proxies: null,
    holders: () => counted.promise,
    clock,
  });
  limits.admits(B, 60);
  const counting = limits.tick(PORT);
  assert.deepEqual([limits.admits(A, 61), limits.admits(A, 62), limits.admits(A, 63)], [true, true, false]);
  counted.resolve(new Map());
  await counting;
  assert.ok(!limits.admits(A, 63));
});

test('the last tenth is for addresses that have signed', () => {
  const { limits } = make({ open: 5, newInWindow: 1000 }, 100);
  assert.equal(limits.admits(A, 90), true);
  assert.equal(limits.excess, 0);
  assert.equal(limits.admits(A, 91), false);
  limits.signed.note(7, peerSubject(A));
  assert.equal(limits.admits(A, 91), true);
  assert.equal(limits.excess, 1);
  assert.equal(limits.admits(B, 92), false);
  assert.equal(limits.admits(PROXY, 92), true);
});

test('an account has room for the eight addresses it used last; one that another used too stays', () => {
  const signed = new SignedAddresses();
  signed.note(1, 'a0');
  signed.note(2, 'a1');
  for (let index = 0; index < 8; index++) signed.note(1, `a${index}`);
  signed.note(1, 'a0');
  signed.note(1, 'b');
  assert.deepEqual(
    ['a0', 'a1', 'a2', 'a7', 'b'].map((address) => signed.has(address)),
    [true, true, true, true, true],
  );
  signed.note(1, 'c');
  assert.deepEqual([signed.has('a1'), signed.has('a2'), signed.has('a3')], [true, false, true]);
});

test('SIGNEDADDRESSES-1: of many accounts those that signed last have one; an address of a remaining one stays', () => {
  const signed = new SignedAddresses(3);
  signed.note(1, 'shared');
  signed.note(1, 'a1');
  for (const account of [2, 3]) signed.note(account, `a${account}`);
  signed.note(2, 'shared');
  signed.note(4, 'a4');
  const has = (): boolean[] => ['shared', 'a1', 'a2', 'a3', 'a4'].map((address) => signed.has(address));
  assert.deepEqual(has(), [true, false, true, true, true], 'the first account is gone');
  signed.note(3, 'a3');
  signed.note(5, 'a5');
  assert.deepEqual(has(), [false, false, false, true, true], 'then the second, which signed longest ago');
  for (const key of ['a', 'b', 'c', 'd']) assert.ok(signed.isDue(key, 0));
  assert.ok(!signed.isDue('d', 50), 'a key that is remembered is not due');
  assert.ok(signed.isDue('a', 50), 'one that is not is looked at again');
});

test('the address of a busy key is looked at ten times a second', () => {
  const signed = new SignedAddresses();
  const due = [0, 50, 99, 100, 150].map((ms) => signed.isDue('key', ms));
  assert.deepEqual(due, [true, false, false, true, false]);
  assert.ok(signed.isDue('another', 150));
});

test('rows of the list of sockets: those of the port that belong to a process, by address or /64', () => {
  const row = (remote: string, state = '01', inode = '4711', port = '1F90') =>
    `   0: 0100007F:${port} ${remote} ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0`;
  const byNetwork = new Map<string, number>();
  const lines = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    row('0100007F:A1B2'),
    row('0100007F:A1B3', '08'),
    row('0100007F:A1B4', '01', '0'),
    row('00000000:0000', '0A'),
    row('0200007F:A1B5', '01', '4711', '1F91'),
    row('B80D012001000000000000000F000000:A1B6'),
    row('B80D0120010000000000000000000000:A1B7'),
    row('0000000000000000FFFF00000100007F:A1B8'),
  ];
  for (const line of lines) countLine(line, PORT, byNetwork);
  assert.deepEqual(
    [...byNetwork],
    [
      ['0100007F', 3],
      ['B80D012001000000', 2],
    ],
  );
});

test('the system says who is connected', { skip: process.platform !== 'linux' }, async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const accepted: Promise<unknown[]>[] = [];
  for (const localAddress of ['127.0.0.1', '127.0.0.2', '127.0.0.2']) {
    accepted.push(once(server, 'connection'));
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    t.after(() => socket.destroy());
    await accepted.at(-1);
  }
  assert.deepEqual([...(await holdersOf(port))!].sort(), [
    ['127.0.0.1', 1],
    ['127.0.0.2', 2],
  ]);
});
