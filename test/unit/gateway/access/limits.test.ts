import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { describe, it } from 'node:test';
import { type CounterStore, MemoryCounterStore } from '../../../../gateway/access/counterStore.ts';
import { Limiter } from '../../../../gateway/access/limiter.ts';
import { Prefixes } from '../../../../gateway/access/prefixes.ts';
import { LIMIT_CLASSES, type LimitClass, limitOfKey, mustPass } from '../../../../gateway/base/classes.ts';
import { clientSubject, isLoopback, peerSubject } from '../../../../gateway/base/clientAddress.ts';
import type { ApiKey } from '../../../../gateway/base/principal.ts';
import type { Method } from '../../../../gateway/http/spec.ts';

const T0 = 1_790_000_000_000;

function countOne(store: MemoryCounterStore, subject: string, requests: number, nowMs: number) {
  return store.count(subject, { requests, windowSec: 1 }, nowMs);
}

describe('MemoryCounterStore', () => {
  it('tells what is left without counting', () => {
    const store = new MemoryCounterStore(10);
    const limit = { requests: 2, windowSec: 1 };
    const left = (nowMs: number) => store.peek([{ subject: 'a', limit }], nowMs);
    const now = (nowMs: number) => ({ resetMs: nowMs, retryMs: nowMs });
    assert.deepEqual(left(T0), [{ allowed: true, remaining: 2, ...now(T0) }]);
    countOne(store, 'a', 2, T0);
    countOne(store, 'a', 2, T0 + 1);
    assert.deepEqual(left(T0 + 1), [{ allowed: false, remaining: 0, resetMs: T0 + 1001, retryMs: T0 + 1000 }]);
    assert.deepEqual(left(T0 + 1000), [{ allowed: true, remaining: 1, resetMs: T0 + 1001, retryMs: T0 + 1000 }]);
    assert.deepEqual(left(T0 + 1001), [{ allowed: true, remaining: 2, ...now(T0 + 1001) }]);
  });

  it('admits the limit and refuses one more', () => {
    const store = new MemoryCounterStore(10);
    for (let index = 0; index < 10; index++) {
      const { allowed, remaining, resetMs } = countOne(store, 'a', 10, T0);
      assert.deepEqual({ allowed, remaining, resetMs }, { allowed: true, remaining: 9 - index, resetMs: T0 + 1000 });
    }
    const over = { allowed: false, remaining: 0, resetMs: T0 + 1000, retryMs: T0 + 1000 };
    assert.deepEqual(countOne(store, 'a', 10, T0), over);
  });

  it('counts each subject for itself', () => {
    const store = new MemoryCounterStore(10);
    assert.ok(countOne(store, 'a', 1, T0).allowed);
    assert.ok(countOne(store, 'b', 1, T0).allowed);
    assert.ok(!countOne(store, 'a', 1, T0).allowed);
  });

  it('admits again exactly when the oldest request leaves the window', () => {
    const store = new MemoryCounterStore(10);
    countOne(store, 'a', 2, T0);
    countOne(store, 'a', 2, T0 + 400);
    assert.ok(!countOne(store, 'a', 2, T0 + 999).allowed);
    assert.ok(countOne(store, 'a', 2, T0 + 1000).allowed);
    assert.ok(!countOne(store, 'a', 2, T0 + 1000).allowed);
  });

  it('locks no one out when the clock was set back, by whatever it was (COUNTERS-4)', () => {
    for (const stepMs of [1000, 3_600_000]) {
      const store = new MemoryCounterStore(10);
      assert.ok(countOne(store, 'a', 1, T0).allowed);
      assert.ok(!countOne(store, 'a', 1, T0).allowed);
      assert.ok(countOne(store, 'a', 1, T0 - stepMs).allowed, `${stepMs} ms`);
      assert.ok(!countOne(store, 'a', 1, T0 - stepMs + 999).allowed);
      assert.ok(countOne(store, 'a', 1, T0 - stepMs + 1000).allowed);
    }
    const store = new MemoryCounterStore(10);
    assert.ok(countOne(store, 'a', 1, T0).allowed);
    assert.ok(!countOne(store, 'a', 1, T0 - 999).allowed, 'a smaller step costs less than a second window');
  });

  it('never admits more than the limit in any window, wherever the window starts', () => {
    const store = new MemoryCounterStore(10);
    const admitted: number[] = [];
    for (let ms = 0; ms < 5000; ms += 7) if (countOne(store, 'a', 13, T0 + ms).allowed) admitted.push(ms);
    for (let index = 13; index < admitted.length; index++) assert.ok(admitted[index] - admitted[index - 13] >= 1000);
    assert.ok(admitted.length >= 5 * 13);
  });

  it('keeps every time, in order, when a window that has moved on grows', () => {
    const store = new MemoryCounterStore(10);
    const most = 40;
    // Eight requests, of which five leave the window; then the rest of the limit arrives within it.
    for (let ms = 0; ms < 800; ms += 100) countOne(store, 'a', most, T0 + ms);
    let times = [500, 600, 700];
    for (let ms = 1401; times.length < most; ms++) {
      times.push(ms);
      const { allowed, remaining, resetMs } = countOne(store, 'a', most, T0 + ms);
      assert.deepEqual([allowed, remaining, resetMs], [true, most - times.length, T0 + ms + 1000]);
    }
    // They leave again one by one, each at its own time.
    while (times.length > 0) {
      const [oldest] = times;
      const peek = (ms: number) => store.peek([{ subject: 'a', limit: { requests: most, windowSec: 1 } }], T0 + ms)[0];
      assert.equal(peek(oldest + 999).remaining, most - times.length);
      times = times.slice(1);
      assert.equal(peek(oldest + 1000).remaining, most - times.length);
    }
  });

  it('follows a limit that is changed while requests are counted', () => {
    const store = new MemoryCounterStore(10);
    for (let index = 0; index < 20; index++) countOne(store, 'a', 20, T0);
    const lowered = countOne(store, 'a', 5, T0 + 1);
    assert.deepEqual([lowered.allowed, lowered.remaining], [false, 0]);
    for (let index = 0; index < 30; index++) assert.ok(countOne(store, 'a', 50, T0 + 2).allowed);
  });

  it('says when the next request may come, and when the whole quota is free again', () => {
    const store = new MemoryCounterStore(10);
    for (const ms of [0, 100, 250]) countOne(store, 'a', 3, T0 + ms);
    const refused = countOne(store, 'a', 3, T0 + 300);
    assert.deepEqual([refused.retryMs, refused.resetMs], [T0 + 1000, T0 + 1250]);
    assert.equal(countOne(store, 'a', 2, T0 + 300).retryMs, T0 + 1100, 'under a lower limit two have to leave first');
    assert.ok(!countOne(store, 'a', 2, T0 + 1099).allowed);
    assert.ok(countOne(store, 'a', 2, T0 + 1100).allowed);
  });

  it('forgets the subject that was counted longest ago when it is full of live ones', () => {
    const store = new MemoryCounterStore(3);
    for (const subject of ['a', 'b', 'c']) countOne(store, subject, 1, T0);
    assert.ok(!countOne(store, 'a', 1, T0 + 1).allowed, 'what is refused is counted as well');
    assert.ok(countOne(store, 'd', 1, T0 + 2).allowed);
    assert.deepEqual([store.size, countOne(store, 'a', 1, T0 + 3).allowed], [3, false]);
    assert.ok(countOne(store, 'b', 1, T0 + 4).allowed, 'b made room for d');
    assert.ok(!countOne(store, 'd', 1, T0 + 5).allowed);
  });

  it('never holds more subjects than fit, whichever of them are idle', () => {
    const store = new MemoryCounterStore(100);
    for (let index = 0; index < 10_000; index++) {
      const stepMs = index % 1000 < 500 ? 0 : 100;
      assert.ok(countOne(store, `s${index}`, 5, T0 + index * stepMs).allowed);
      assert.ok(store.size <= 100);
    }
  });
});

describe('Prefixes', () => {
  const site = (prefixes: Prefixes, first: number, count: number) =>
    new Set(Array.from({ length: count }, (_, index) => prefixes.subjectOf(`2001:db8:${first}:${index}`, T0)));

  it('counts a /64 as itself, until its /48 uses too many of them', () => {
    const prefixes = new Prefixes(60_000);
    const subjects = site(prefixes, 1, 65_536);
    assert.equal(subjects.size, 129);
    assert.ok(subjects.has('2001:db8:1:127') && subjects.has('2001:db8:1') && !subjects.has('2001:db8:1:128'));
    assert.equal(prefixes.subjectOf('2001:db8:1:5', T0 + 1), '2001:db8:1:5', 'one that was there keeps its own');
    assert.equal(prefixes.subjectOf('2001:db8:2:1', T0 + 1), '2001:db8:2:1', 'other sites notice nothing');
    assert.equal(prefixes.subjectOf('2001:db8:1:900', T0 + 60_000), '2001:db8:1:900', 'a period later it is over');
  });

  it('counts a /48 as its /32 when that uses too many, and leaves IPv4 alone', () => {
    const prefixes = new Prefixes(60_000);
    const subjects = new Set<string>();
    for (let index = 0; index < 2000; index++) for (const each of site(prefixes, index, 3)) subjects.add(each);
    assert.equal(subjects.size, 1025);
    assert.ok(subjects.has('2001:db8'));
    assert.equal(prefixes.subjectOf('2001:db9:1:1', T0), '2001:db9:1:1');
    assert.equal(prefixes.subjectOf('9.8.7.6', T0), '9.8.7.6');
  });
});

describe('Limiter', () => {
  const key = { keyId: 'key-1', tier: 'standard', rateLimitOverride: { requests: 5, windowSec: 60 } } as ApiKey;
  const route = (method: Method, limit: LimitClass) => ({ method, path: `/v1/${limit}`, limit });
  const silent: CounterStore = { count: () => Promise.resolve('unavailable'), peek: () => 'unavailable' };

  async function decisions(limiter: Limiter, endpoint: ReturnType<typeof route>, calls: number) {
    const made = [];
    for (let index = 0; index < calls; index++) made.push((await limiter.countKey(key, endpoint, T0))?.decision);
    return made;
  }

  it('counts the same path of two methods apart', async () => {
    const limiter = new Limiter();
    assert.deepEqual(await decisions(limiter, route('GET', 'unlisted'), 6), [
      ...Array(5).fill('allowed'),
      'quota_denied',
    ]);
    assert.deepEqual(await decisions(limiter, route('DELETE', 'unlisted'), 1), ['allowed']);
  });

  it('counts failed attempts apart from what the same address does otherwise', async () => {
    const endpoint = route('GET', 'resolveMarket');
    for (const limiter of [new Limiter(), Limiter.in(new MemoryCounterStore(10))]) {
      for (let index = 0; index < 50; index++) await limiter.countFailure('9.8.7.6', endpoint, T0);
      assert.equal((await limiter.countFailure('9.8.7.6', endpoint, T0))?.decision, 'quota_denied');
      assert.equal((await limiter.countAddress('9.8.7.6', endpoint, T0))?.decision, 'allowed');
      assert.equal((await limiter.countFailure('9.8.7.7', endpoint, T0))?.decision, 'allowed');
    }
  });

  it('holds heartbeats to one a second whatever the key may do elsewhere', async () => {
    const limiter = new Limiter();
    assert.deepEqual(await decisions(limiter, route('POST', 'heartbeat'), 2), ['allowed', 'quota_denied']);
    assert.equal((await limiter.countKey(key, route('POST', 'heartbeat'), T0 + 1000))?.decision, 'allowed');
  });

  it('refuses what takes risk while a shared store is silent, and still counts what takes it away', async () => {
    const limiter = new Limiter(silent, silent);
    assert.deepEqual(await decisions(limiter, route('POST', 'placeOrder'), 2), Array(2).fill('dependency_unavailable'));
    for (const limit of ['cancelOrder', 'cancelBatch', 'massCancel'] as const) {
      const made = await decisions(limiter, route('DELETE', limit), 6);
      assert.deepEqual(made, [...Array(5).fill('allowed'), 'quota_denied'], limit);
    }
    assert.deepEqual(await decisions(limiter, route('POST', 'heartbeat'), 1), ['allowed']);
  });
});

it('admits so many new accounts of an address a day, and counts them apart from all else (15.12)', () => {
  const limiter = new Limiter();
  const decision = (address: string, nowMs: number): string =>
    (limiter.countSignUp(address, nowMs) as { decision: string }).decision;
  for (let made = 0; made < 50; made++) assert.equal(decision('203.0.113.7', made), 'allowed');
  assert.equal(decision('203.0.113.7', 50), 'quota_denied');
  assert.equal(decision('203.0.113.8', 50), 'allowed');
  assert.equal(decision('203.0.113.7', 86_400_000), 'allowed');
});

it('admits no more new accounts of a network that uses other addresses every minute (4.10, 15.12)', () => {
  const limiter = new Limiter();
  const other = { method: 'GET', path: '/v1/time', limit: 'unlisted' } as const;
  let made = 0;
  for (let minute = 0; minute < 1440; minute++) {
    for (let index = 0; index < 10; index++) {
      const address = `2001:db8:1:${minute * 10 + index}`;
      for (let one = 0; one < 10; one++) {
        const { decision } = limiter.countSignUp(address, minute * 60_000) as { decision: string };
        if (decision === 'allowed') made++;
      }
    }
    // In the meantime the counts of all others are forgotten.
    for (let index = 0; index < 100; index++) limiter.countAddress(`10.0.${index}.${minute}`, other, minute * 60_000);
  }
  assert.equal(made, 128 * 10 + 50, '128 /64s of the /48, and all others together');
});

describe('clientSubject', () => {
  const v4 = (text: string) => Uint8Array.from(text.split('.'), Number);
  const trusted = new BlockList();
  trusted.addAddress('127.0.0.1');
  trusted.addSubnet('10.0.0.0', 8);

  it('is the address of the socket when no proxy is trusted', () => {
    assert.equal(clientSubject(v4('9.8.7.6'), '1.1.1.1', null), '9.8.7.6');
  });

  it('takes an IPv4 address mapped into IPv6 as IPv4', () => {
    assert.equal(clientSubject(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 9, 8, 7, 6), '', null), '9.8.7.6');
    assert.equal(clientSubject(v4('127.0.0.1'), '::ffff:9.8.7.6', trusted), '9.8.7.6');
  });

  it('counts IPv6 by its /64', () => {
    const peer = new Uint8Array(16);
    peer.set([0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2, 9, 9, 9, 9, 9, 9, 9, 9]);
    assert.equal(clientSubject(peer, '', null), '2001:db8:1:2');
    assert.equal(clientSubject(v4('127.0.0.1'), '2001:db8:1:2::77', trusted), '2001:db8:1:2');
    assert.equal(clientSubject(v4('127.0.0.1'), '::1', trusted), '0:0:0:0');
  });

  it('takes no other IPv6 address for an IPv4 one: its owner could be counted as whom it likes', () => {
    const mapped = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 9, 8, 7, 6);
    for (let index = 0; index < 12; index++) {
      const peer = mapped.slice();
      peer[index]! ^= 1;
      assert.match(clientSubject(peer, '', null), /:/, `byte ${index}`);
    }
    for (const address of ['1::ffff:9.8.7.6', '0:1::ffff:908:706', '::1:ffff:908:706', '::9.8.7.6']) {
      assert.match(clientSubject(v4('127.0.0.1'), address, trusted), /:/, address);
    }
  });

  it('is the same where a connection opens and no header is looked at (6.12)', () => {
    const mapped = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 9, 8, 7, 6);
    const peers = [v4('9.8.7.6'), mapped, new Uint8Array(16)];
    for (let index = 0; index < 16; index++) {
      for (const like of [mapped, new Uint8Array(16)]) {
        const peer = like.slice();
        peer[index]! ^= 0x5a;
        peers.push(peer);
      }
    }
    for (const peer of peers) assert.equal(peerSubject(peer), clientSubject(peer, '', null), String(peer));
  });

  it('knows the addresses of this machine itself', () => {
    const v6 = (last: number) => Uint8Array.from({ length: 16 }, (_, index) => (index === 15 ? last : 0));
    const mapped = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1);
    for (const peer of [v4('127.0.0.1'), v4('127.9.9.9'), v6(1), mapped]) assert.ok(isLoopback(peer));
    for (const peer of [v4('128.0.0.1'), v4('10.0.0.1'), v6(0), v6(2)]) assert.ok(!isLoopback(peer));
  });

  it('believes a trusted proxy, and through it the next one', () => {
    assert.equal(clientSubject(v4('127.0.0.1'), '5.5.5.5', trusted), '5.5.5.5');
    assert.equal(clientSubject(v4('127.0.0.1'), '5.5.5.5, 10.1.1.1', trusted), '5.5.5.5');
  });

  it('ignores what a client wrote in front of what the proxy saw', () => {
    assert.equal(clientSubject(v4('127.0.0.1'), '1.2.3.4, 5.5.5.5', trusted), '5.5.5.5');
    assert.equal(clientSubject(v4('9.8.7.6'), '1.2.3.4', trusted), '9.8.7.6');
  });

  it('leaves out the port that a proxy writes beside the address', () => {
    for (const [header, expected] of [
      ['5.5.5.5:80', '5.5.5.5'],
      ['[5.5.5.5]:80', '5.5.5.5'],
      ['[2001:db8:1:2::9]:65535', '2001:db8:1:2'],
      ['[2001:db8:1:2::9]', '2001:db8:1:2'],
      ['2001:db8:1:2::9', '2001:db8:1:2'],
      ['[::ffff:5.5.5.5]:1', '5.5.5.5'],
      ['fe80::1%eth0', 'fe80:0:0:0'],
      ['1.2.3.4:5, 10.1.1.1:6', '1.2.3.4'],
    ] as const) {
      assert.equal(clientSubject(v4('127.0.0.1'), header, trusted), expected, header);
    }
  });

  it('stays with the proxy where the header holds no address', () => {
    for (const header of [
      'unknown',
      '',
      ',',
      '999.1.1.1',
      '5.5.5.5:',
      '5.5.5.5:808080',
      '[5.5.5.5',
      '2001:db8::1:',
      ':80',
    ]) {
      assert.equal(clientSubject(v4('127.0.0.1'), header, trusted), '127.0.0.1', header);
    }
  });
});

describe('the table of limits (RULES.md 4.6)', () => {
  it('has the requests of each class and tier', () => {
    const rates = Object.entries(LIMIT_CLASSES).map(([name, limit]) =>
      limit === null ? name : `${name} ${limit.requests} in ${limit.windowSec}`,
    );
    for (const rate of [
      'unlimited',
      'unlisted 30 in 60',
      'marketList 100 in 60',
      'market 200 in 60',
      'bestPrices 100 in 60',
      'placeOrder 10 in 1',
      'placeBatch 5 in 1',
      'orderByHash 20 in 1',
      'cancelOrder 20 in 1',
      'cancelBatch 5 in 1',
      'massCancel 2 in 1',
      'heartbeat 1 in 1',
      'deployMarket 20 in 60',
      'signIn 10 in 60',
      'refreshSession 5 in 60',
      'createMarket 10 in 60',
      'resolveMarket 5 in 60',
    ]) {
      assert.ok(rates.includes(rate), rate);
    }
    const tiers = (['standard', 'premium', 'market_maker'] as const).map(
      (tier) => limitOfKey({ tier, rateLimitOverride: null }, 'market')?.requests,
    );
    assert.deepEqual(tiers, [10, 50, 100]);
  });

  it('has no limit for a key either where there is none, and its own one elsewhere', () => {
    const key = { tier: 'standard', rateLimitOverride: { requests: 7, windowSec: 3 } } as const;
    assert.equal(limitOfKey(key, 'unlimited'), null);
    assert.deepEqual(limitOfKey(key, 'placeOrder'), key.rateLimitOverride);
    assert.deepEqual(limitOfKey(key, 'heartbeat'), { requests: 1, windowSec: 1 });
  });

  it('lets pass what takes risk away when a shared counter is silent', () => {
    const passing = (Object.keys(LIMIT_CLASSES) as LimitClass[]).filter(mustPass);
    assert.deepEqual(passing.sort(), ['cancelBatch', 'cancelOrder', 'heartbeat', 'massCancel']);
  });

  it('is counted by its decisions, which the metrics show', async () => {
    const limiter = new Limiter();
    const endpoint = { method: 'POST', path: '/v1/orders/heartbeat', limit: 'heartbeat' } as const;
    for (let request = 0; request < 3; request++) limiter.countAddress('203.0.113.1', endpoint, T0);
    assert.equal(limiter.countAddress('203.0.113.1', { ...endpoint, limit: 'unlimited' }, T0), null);
    assert.equal(limiter.countFailure('203.0.113.1', { ...endpoint, limit: 'unlimited' }, T0), null);
    assert.deepEqual(limiter.decisions, { allowed: 1, quota_denied: 2, dependency_unavailable: 0 });
  });
});
