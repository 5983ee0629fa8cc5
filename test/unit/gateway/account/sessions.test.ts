/** The life of a session (RULES.md 15.4 to 15.6). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_SESSIONS } from '../../../../gateway/account/sessionsStore.ts';
import { SYNCED_AT_ONCE } from '../../../../gateway/base/laterSync.ts';
import { Random } from '../../../support/random.ts';
import { seedOr, timesOf } from '../../../support/seeds.ts';
import { SessionRig } from '../../../support/sessionRig.ts';

const DAY_MS = 86_400_000;
const RACE_MS = 30_000;
const ENDED = { refusal: 'session has ended' };
const INVALID = { refusal: 'invalid refresh token' };

function next(rig: SessionRig, token: string): string {
  const result = rig.refresh(token);
  assert.ok('token' in result, JSON.stringify(result));
  return result.token;
}

test('15.4: a repeat within 30 seconds gets the newest token, over a restart too; later it ends the session', () => {
  const rig = new SessionRig();
  const { refreshToken: first, session } = rig.open();
  const second = next(rig, first);
  const third = next(rig, second);
  rig.clock.advance(RACE_MS - 1);
  rig.restart();
  assert.equal(next(rig, first), third, 'the successor was used as well: the newest one is good for longest');
  assert.equal(next(rig, second), third);
  const fourth = next(rig, third);
  rig.clock.advance(RACE_MS);
  assert.deepEqual(rig.refresh(third), ENDED);
  assert.deepEqual(rig.refresh(fourth), ENDED, 'whoever has the newest one is out, too');
  rig.restart();
  assert.deepEqual(rig.refresh(fourth), ENDED);
  assert.deepEqual(rig.reused, [session.principal.accountIndex]);
});

test('15.4: a token has two heirs at most: a second repeat ends the session, over a restart too', () => {
  for (const isRestarted of [false, true]) {
    const rig = new SessionRig();
    const { refreshToken: first, session } = rig.open();
    const second = next(rig, first);
    assert.equal(next(rig, first), second, 'the other tab');
    if (isRestarted) rig.restart();
    assert.deepEqual(rig.refresh(first), ENDED, 'somebody else');
    assert.deepEqual(rig.refresh(second), ENDED);
    assert.deepEqual(rig.reused, [session.principal.accountIndex]);
  }
});

test('15.4: a repeat by a program with another name ends the session', () => {
  const rig = new SessionRig();
  const { refreshToken: first } = rig.open();
  const second = next(rig, first);
  assert.deepEqual(rig.refresh(first, 'curl/8.7'), ENDED);
  assert.deepEqual(rig.refresh(second), ENDED);
  const other = rig.open().refreshToken;
  const token = rig.refresh(other, 'curl/8.7');
  assert.ok('token' in token, 'the name may change between two uses, as with a new version of the browser');
});

test('15.4: the repeat of a token leaves none to the tokens before it', () => {
  const rig = new SessionRig();
  const { refreshToken: first, session } = rig.open();
  const second = next(rig, first);
  const third = next(rig, second);
  assert.equal(next(rig, second), third);
  assert.deepEqual(rig.refresh(first), ENDED);
  assert.deepEqual(rig.refresh(third), ENDED, 'whoever has the newest one is out, too');
  assert.deepEqual(rig.reused, [session.principal.accountIndex]);
  rig.restart();
  assert.deepEqual(rig.refresh(third), ENDED);
});

test('15.4: an answer that was lost with the process can be asked for again for 30 seconds from the start on', () => {
  const rig = new SessionRig();
  const { refreshToken: first } = rig.open();
  const second = next(rig, first);
  rig.clock.advance(10 * RACE_MS);
  rig.restart();
  rig.sessions.tick(rig.nowMs);
  rig.clock.advance(RACE_MS - 1);
  assert.equal(next(rig, first), second);
  rig.clock.advance(1);
  assert.deepEqual(rig.refresh(first), ENDED);
});

test('15.4: a start of the exchange makes no token good again that was used long before the stop', () => {
  const rig = new SessionRig();
  const { refreshToken: first, session } = rig.open();
  const second = next(rig, first);
  for (let i = 0; i < 3; i++) {
    rig.clock.advance(RACE_MS);
    rig.sessions.tick(rig.nowMs);
  }
  rig.restart();
  rig.sessions.tick(rig.nowMs);
  assert.deepEqual(rig.refresh(first), ENDED, 'a thief had it');
  assert.deepEqual(rig.refresh(second), ENDED);
  assert.deepEqual(rig.reused, [session.principal.accountIndex]);
});

test('15.4: a token that was used is forgotten when a repeat of it would end the session in any case', () => {
  const rig = new SessionRig();
  const held = (): unknown => rig.database.prepare('SELECT count(*) FROM used_refresh_tokens').pluck().get();
  const [own, foreign] = [rig.open(), rig.open(rig.users[1])];
  rig.sessions.tick(rig.nowMs);
  const second = next(rig, own.refreshToken);
  rig.clock.advance(RACE_MS / 2);
  next(rig, foreign.refreshToken);
  next(rig, second);
  rig.clock.advance(RACE_MS - 1);
  rig.sessions.tick(rig.nowMs);
  assert.equal(held(), 3, 'with the one before it, which leads to it');
  rig.clock.advance(1);
  rig.sessions.tick(rig.nowMs);
  assert.equal(held(), 0);
  assert.deepEqual(rig.refresh(own.refreshToken), ENDED);
});

test('15.4: a token that was never issued ends no session, whatever it looks like', () => {
  const rig = new SessionRig();
  const { refreshToken: first } = rig.open();
  const second = next(rig, first);
  const bytes = Buffer.from(second, 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = changed[at]! ^ 1;
    assert.deepEqual(rig.refresh(changed.toString('base64url')), INVALID, `byte ${at}`);
  }
  for (const text of ['', 'x', second.slice(1), `${second}A`, `${second}=`, second.replaceAll(/./g, 'A')]) {
    assert.deepEqual(rig.refresh(text), INVALID, text);
  }
  // The last character of 68 bytes has four bits that do not count.
  const last = second.at(-1)!;
  const twin = second.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1);
  if (Buffer.from(twin, 'base64url').equals(bytes)) assert.deepEqual(rig.refresh(twin), INVALID);
  assert.ok('token' in rig.refresh(second));
  assert.deepEqual(rig.reused, []);
});

test('15.5: a session ends 30 days after a refresh, 90 after the sign-in, or at the timeout of its person', () => {
  const rig = new SessionRig();
  const idle = rig.open();
  let token = rig.open().refreshToken;
  for (let days = 29; days < 90; days += 29) {
    rig.clock.advance(29 * DAY_MS);
    token = next(rig, token);
  }
  assert.deepEqual(rig.refresh(idle.refreshToken), ENDED);
  rig.clock.advance(3 * DAY_MS - 1);
  token = next(rig, token);
  rig.clock.advance(1);
  assert.deepEqual(rig.refresh(token), ENDED);
  rig.sessions.tick(rig.nowMs);
  assert.equal(rig.store.count, 0, 'what has ended is forgotten');

  const timed = rig.open();
  rig.timeoutMinutes = 60;
  rig.clock.advance(60 * 60_000 - 1);
  const later = next(rig, timed.refreshToken);
  rig.clock.advance(1);
  assert.deepEqual(rig.refresh(later), ENDED);
  assert.equal(rig.sessions.find(timed.session.principal.sessionId, rig.nowMs), null);
  assert.deepEqual(rig.reused, []);
});

test('15.6: ending one session, or all of an account, ends no other', () => {
  const rig = new SessionRig();
  const [own, ownToo, foreign] = [rig.open(), rig.open(), rig.open(rig.users[1])];
  rig.sessions.end(own.session.principal.sessionId);
  assert.deepEqual(rig.refresh(own.refreshToken), ENDED);
  assert.equal(rig.sessions.endAll(rig.users[0].index, rig.nowMs), 1);
  assert.deepEqual(rig.refresh(ownToo.refreshToken), ENDED);
  rig.restart();
  assert.deepEqual(rig.refresh(ownToo.refreshToken), ENDED);
  assert.ok('token' in rig.refresh(foreign.refreshToken));
});

test('15.6: on a full disk all sessions of an account end at once, and are taken out of control.db later', () => {
  let isFull = false;
  const write = (change: () => void): void => {
    if (isFull) throw new Error('database or disk is full');
    change();
  };
  const rig = new SessionRig({ ...SYNCED_AT_ONCE, write });
  const own = [rig.open(), rig.open(), rig.open()];
  const account = rig.users[0].index;
  isFull = true;
  assert.throws(() => rig.sessions.endAll(account, rig.nowMs), /disk is full/);
  assert.deepEqual(rig.sessions.of(account, rig.nowMs), []);
  for (const { refreshToken } of own) assert.deepEqual(rig.refresh(refreshToken), ENDED);
  isFull = false;
  rig.sessions.tick(rig.nowMs);
  rig.restart();
  assert.equal(rig.store.count, 0);
});

test('15.6: one session more than an account may have ends the one that was used longest ago', () => {
  const rig = new SessionRig();
  const tokens: string[] = [];
  for (let i = 0; i < MAX_SESSIONS; i++) {
    tokens.push(rig.open().refreshToken);
    rig.clock.advance(1);
  }
  tokens[0] = next(rig, tokens[0]!);
  rig.open();
  assert.deepEqual(rig.refresh(tokens[1]!), ENDED);
  assert.ok('token' in rig.refresh(tokens[0]!));
  assert.equal(rig.sessions.of(rig.users[0].index, rig.nowMs).length, MAX_SESSIONS);
});

/** Two tabs with one cookie, and a thief who copies it at some moment. */
class Household {
  readonly rig: SessionRig;
  readonly #random: Random;
  cookie: string;
  /** By tab: the cookie that it has sent, while there is no answer. */
  readonly sent: (string | null)[] = [null, null];
  stolen: string | null = null;
  hasThiefRefreshed = false;

  constructor(rig: SessionRig, seed: number) {
    this.rig = rig;
    rig.reused.length = 0;
    this.#random = new Random(seed);
    this.cookie = this.rig.open().refreshToken;
  }

  step(): void {
    this.act();
    this.rig.sessions.tick(this.rig.nowMs);
  }

  act(): void {
    const tab = this.#random.below(2);
    switch (this.#random.below(8)) {
      case 0:
      case 1:
        this.sent[tab] ??= this.cookie;
        break;
      case 2:
      case 3:
        this.arrive(tab);
        break;
      case 4:
        this.rig.clock.advance(this.#random.below(RACE_MS / 8));
        break;
      case 5:
        // No request is on its way for as long as this.
        this.arrive(0);
        this.arrive(1);
        this.rig.clock.advance(this.#random.below(4 * RACE_MS));
        break;
      case 6:
        this.rig.restart();
        break;
      default:
        assert.deepEqual(this.rig.refresh(changed(this.cookie)), INVALID);
    }
  }

  /** The request of the tab arrives, and its answer sets the cookie. */
  arrive(tab: number): void {
    const token = this.sent[tab];
    this.sent[tab] = null;
    if (token == null) return;
    const result = this.rig.refresh(token);
    if ('token' in result) this.cookie = result.token;
    else assert.ok(this.hasThiefRefreshed, `an honest tab was refused: ${result.refusal}`);
  }

  steal(): void {
    this.stolen = this.cookie;
  }

  thiefRefreshes(): boolean {
    const result = this.rig.refresh(this.stolen!);
    this.hasThiefRefreshed = true;
    if ('token' in result) this.stolen = result.token;
    return 'token' in result;
  }

  tabRefreshes(): boolean {
    this.sent[0] = this.cookie;
    const before = this.cookie;
    this.arrive(0);
    return this.cookie !== before;
  }
}

/** Another token: the character has no bits that the decoder leaves out. */
function changed(token: string): string {
  return `${token.slice(0, -10)}${token.at(-10) === 'A' ? 'B' : 'A'}${token.slice(-9)}`;
}

test('15.4: whatever the interleaving, two tabs stay signed in, and a thief does not', () => {
  const rig = new SessionRig();
  const first = seedOr(15);
  for (let seed = first; seed < first + timesOf({ suite: 40, soak: 2000 }); seed++) {
    const house = new Household(rig, seed);
    const message = `seed ${seed}`;
    try {
      for (let step = 0; step < 60; step++) house.step();
      assert.equal(house.rig.reused.length, 0);
      house.steal();
      for (let step = 0; step < 20; step++) house.step();
      assert.equal(house.rig.reused.length, 0, 'a token that only lies with a thief ends nothing');
      house.thiefRefreshes();
      for (let step = 0; step < 20; step++) house.step();
    } catch (error) {
      throw new Error(message, { cause: error });
    }
    // Each refreshes once more, long after the other: at most one of them still can, and then none.
    house.arrive(0);
    house.arrive(1);
    house.rig.clock.advance(RACE_MS);
    const couldTab = house.tabRefreshes();
    house.rig.clock.advance(RACE_MS);
    const couldThief = house.thiefRefreshes();
    house.rig.clock.advance(RACE_MS);
    assert.ok(!(couldTab && couldThief), `${message}: both had a session`);
    assert.equal(house.thiefRefreshes() && couldThief && couldTab, false, message);
    assert.equal(house.rig.reused.length, 1, `${message}: the person learns of it`);
    assert.equal(house.rig.store.count, 0, `${message}: the thief is out`);
  }
});
