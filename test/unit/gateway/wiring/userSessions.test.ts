/** The parts of sessions, as the exchange puts them together (RULES.md 15.1, 15.4, 15.8, 15.9). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { parseConfig } from '../../../../gateway/base/config.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { LEDGER_SETTLEMENT } from '../../../../gateway/shardlink/settlementPort.ts';
import { openControl } from '../../../../gateway/wiring/control.ts';
import { UserSessions } from '../../../../gateway/wiring/userSessions.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const LISTENING = 'http://127.0.0.1:8080';
const ADA = { issuer: 'https://id.example', subject: 'ada' };

function open(t: TestContext, env: Record<string, string> = {}) {
  const config = parseConfig({ DATA_DIR: temporaryDirectory(), JOURNAL_RESERVE_MB: '0', ...env }, 2);
  const control = openControl(config);
  t.after(() => control.database.close());
  const clock = new ManualClock(1_790_000_000_000);
  const publicUrl = (): string => config.publicUrl ?? LISTENING;
  const parts = new UserSessions({
    config,
    control,
    clock,
    log: createLogger('silent'),
    publicUrl,
    settlement: LEDGER_SETTLEMENT,
  });
  const signIn = (identity: typeof ADA, email: string | null = null) => {
    const proof = { method: 'id', wallet: null, identity, email, displayName: null };
    const opened = parts.signIn.open(proof, null, '', clock.nowMs());
    assert.ok('session' in opened);
    return opened;
  };
  return { config, control, clock, parts, signIn };
}

test('15.4: an account is notified that its refresh token was used twice, after the session has ended', (t) => {
  const { control, clock, parts, signIn } = open(t);
  const { session, refreshToken } = signIn(ADA);
  const { accountIndex, sessionId } = session.principal;
  assert.ok('session' in parts.sessions.refresh(refreshToken, '', clock.nowMs()));
  assert.equal(control.notices.of(accountIndex).length, 0);
  clock.advance(30_000);
  const ended: string[] = [];
  control.sessions.ended.subscribe((principal) => ended.push(principal.sessionId));
  assert.ok(!('session' in parts.sessions.refresh(refreshToken, '', clock.nowMs())));
  assert.deepEqual(ended, [sessionId], 'its sockets close');
  assert.deepEqual(
    control.notices.of(accountIndex).map(({ type, title }) => [type, title]),
    [['security', 'A session was ended']],
  );
});

test('15.9: a person is known by issuer and subject, over restarts, and never by an e-mail address', (t) => {
  const { control, parts, signIn } = open(t);
  const first = signIn(ADA, 'ada@example.org');
  assert.ok(first.isNew);
  const account = first.session.principal.accountIndex;
  assert.equal(control.accounts.byIndex(account).email, 'ada@example.org');
  assert.equal(signIn(ADA).session.principal.accountIndex, account);
  const others = [
    { ...ADA, subject: 'eve' },
    { ...ADA, issuer: 'https://id.other' },
    { issuer: `${ADA.issuer}\nada`, subject: '' },
  ];
  for (const other of others) {
    const opened = signIn(other, 'ada@example.org');
    assert.ok(opened.isNew && opened.session.principal.accountIndex !== account, JSON.stringify(other));
  }
  assert.equal(parts.sessions.of(account, 1_790_000_000_000).length, 2);
  assert.equal(control.database.prepare('SELECT count(*) FROM identities').pluck().get(), 4);
});

test('15.1, 15.8: cookies are Secure unless on loopback, and pages of the exchange are known by origin', (t) => {
  const cases: [Record<string, string>, boolean][] = [
    [{}, false],
    [{ PUBLIC_URL: 'http://localhost:3000' }, false],
    [{ PUBLIC_URL: 'http://[::1]:3000' }, false],
    [{ PUBLIC_URL: 'https://exchange.example' }, true],
    [{ PUBLIC_URL: 'http://exchange.example' }, true],
  ];
  for (const [env, isSecure] of cases) assert.equal(open(t, env).parts.areCookiesSecure, isSecure, JSON.stringify(env));
  const { pages } = open(t, { PUBLIC_URL: 'https://exchange.example', CORS_ORIGINS: 'https://app.example' }).parts;
  for (const origin of ['https://exchange.example', 'https://app.example']) assert.ok(pages.isOwn(origin), origin);
  for (const origin of ['', 'null', '*', LISTENING, 'http://exchange.example', 'https://exchange.example.evil']) {
    assert.ok(!pages.isOwn(origin), origin);
  }
  const anyPages = open(t, { CORS_ORIGINS: '*' }).parts.pages;
  for (const origin of ['https://app.example', '*']) assert.ok(!anyPages.isOwn(origin), 'any origin is no name');
  assert.ok(open(t).parts.pages.isOwn(LISTENING));
});

test('15.10: PUBLIC_URL is an origin, and nothing after it', () => {
  for (const url of ['exchange.example', 'https://a.example/path', 'ftp://a.example', 'https://u:p@a.example', '*']) {
    assert.throws(() => parseConfig({ PUBLIC_URL: url }, 2), /PUBLIC_URL: expected an origin/, url);
  }
  assert.equal(parseConfig({ PUBLIC_URL: 'https://a.example/' }, 2).publicUrl, 'https://a.example');
  assert.equal(parseConfig({}, 2).publicUrl, null);
});
