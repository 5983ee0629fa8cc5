/** The address of the replicated log: its forms, where it is read from, and that no refusal repeats its password. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hostsOf, JournalUrlError, journalUrlOf, serversOf } from '../../../../shared/base/journalUrl.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const SECRET = 'xxsecretxx';

function refusal(env: Record<string, string>): string {
  try {
    journalUrlOf(env);
  } catch (error) {
    assert.ok(error instanceof JournalUrlError);
    assert.ok(!error.message.includes(SECRET) && !error.message.includes('\n'), 'one line, without the secret');
    return error.message;
  }
  return assert.fail(`accepted ${JSON.stringify(env)}`);
}

describe('the URL of the replicated log', () => {
  it('names several servers, which share the user, the database and the options', () => {
    assert.deepEqual(serversOf('postgres://user:p%40ss@one:5432,two/log?sslmode=verify-full'), [
      'postgres://user:p%40ss@one:5432/log?sslmode=verify-full',
      'postgres://user:p%40ss@two/log?sslmode=verify-full',
    ]);
    assert.deepEqual(serversOf('postgresql://one/log'), ['postgresql://one/log']);
    assert.throws(() => serversOf('redis://one/log'), /^JournalUrlError: JOURNAL_URL: expected postgres:/);
  });

  it('names each host, even if a parameter names them', () => {
    const url = `postgres://a:${SECRET}@one:5432,[::1]:5433,127.0.0.1/log`;
    assert.deepEqual(hostsOf(url), ['one', '::1', '127.0.0.1']);
    assert.deepEqual(hostsOf(`postgres://a:${SECRET}@/log?host=/run/postgresql`), ['localhost']);
    assert.deepEqual(hostsOf('postgres://a@/log?host=one'), ['localhost', 'one']);
    assert.deepEqual(hostsOf('postgres://a@127.0.0.1/log?host=one'), ['127.0.0.1', 'one']);
  });

  it('is in the environment, or in a file, whose last line may end', () => {
    const url = `postgres://a:${SECRET}@one,[::1]:5433/log?sslmode=verify-ca&sslrootcert=/etc/ca.pem`;
    const file = join(temporaryDirectory(), 'url');
    writeFileSync(file, `${url}\n`);
    assert.equal(journalUrlOf({ JOURNAL_URL: url }), url);
    assert.equal(journalUrlOf({ JOURNAL_URL_FILE: file }), url);
    assert.equal(journalUrlOf({}), '');
    const socket = 'postgres://a@/log?host=/run/postgresql';
    assert.equal(journalUrlOf({ JOURNAL_URL: socket }), socket);
  });

  it('is refused in one line, without its password, where it is another or cannot be read', () => {
    const file = join(temporaryDirectory(), 'url');
    writeFileSync(file, `${SECRET} `.repeat(1000));
    const expected = /^JOURNAL_URL: expected postgres:\/\/user:password@host:port,host:port\/name, with/;
    for (const url of [
      `mysql://a:${SECRET}@b/c`,
      `postgres://a:${SECRET}@b`,
      `postgres://a:${SECRET}@more@b/c`,
      `postgres://a:${SECRET}/more@b/c`,
      `postgres://a:${SECRET}%zz@b/c`,
      `postgres://a:${SECRET}@b:99999/c`,
      `postgres://a:${SECRET}@b,c:port/c`,
    ]) {
      assert.match(refusal({ JOURNAL_URL: url }), expected);
    }
    for (const mode of ['require', 'prefer', 'no-verify', '']) {
      const url = `postgres://a:${SECRET}@b/c?sslmode=${mode}`;
      assert.match(refusal({ JOURNAL_URL: url }), /^JOURNAL_URL: sslmode is disable, verify-ca, verify-full: /);
    }
    assert.match(refusal({ JOURNAL_URL_FILE: file }), /^JOURNAL_URL_FILE: .*: expected postgres:/);
    writeFileSync(file, '\n');
    assert.match(refusal({ JOURNAL_URL_FILE: file }), /^JOURNAL_URL_FILE: expected postgres:/);
    assert.match(refusal({ JOURNAL_URL_FILE: '/nowhere' }), /^JOURNAL_URL_FILE: cannot read \/nowhere \(ENOENT\)$/);
    assert.match(refusal({ JOURNAL_URL: 'x', JOURNAL_URL_FILE: file }), /^JOURNAL_URL and JOURNAL_URL_FILE: set one/);
  });
});
