import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { AuditLogCheck } from '../../engine/admin/auditLog.ts';
import type { AuditQuery, AuditRecord } from '../../shared/client/types.ts';
import { chainLine, deriveAuditKey, follows, NO_RECORDS, readLine } from '../../shared/crypto/auditChain.ts';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { fileScope } from '../support/fileScope.ts';
import { startServer } from '../support/server.ts';

const server = await startServer(fileScope, { SHARDS: '1' });

/** Every record that fits, the newest first, page by page. */
async function recordsOf(query: AuditQuery = {}): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await server.admin.audit({ ...query, cursor });
    records.push(...page.records);
    if (page.next_cursor === null) return records;
    cursor = page.next_cursor;
  }
}

/** The change and the result of the last request that changed something. */
async function lastChange(): Promise<[result: AuditRecord, change: AuditRecord]> {
  const [result] = await recordsOf({ event: 'result', limit: 1 }).then((all) => all.slice(0, 1));
  const change = (await recordsOf({ event: 'change' })).find(({ sequence }) => sequence === result!.of);
  return [result!, change!];
}

/** The file as it is on the disk: every line whole, authentic, and after the one before. */
function checkedFile(): string[] {
  const key = deriveAuditKey(Buffer.from(readFileSync(join(server.dataDir, 'master.key'), 'utf8').trim(), 'hex'));
  let head = NO_RECORDS;
  const lines = readFileSync(join(server.dataDir, 'audit.log'), 'utf8').split('\n').slice(0, -1);
  for (const text of lines) {
    const line = readLine(text, key);
    assert.ok(line !== null && follows(line, head) && line.mac === 'valid', text);
    head = line;
  }
  return lines;
}

describe('the audit log', () => {
  test('a change is recorded with who, from where and what, and then with its result', async () => {
    const { id: operatorId, token } = await server.admin.createOperator({ name: 'ada', roles: ['treasury'] });
    const headers = { authorization: `Bearer ${token}` };
    const { body: user } = await server.request('POST', '/admin/users', { display_name: 'Ann' }, headers);
    const [result, change] = await lastChange();
    const who = {
      operator: 'ada',
      operator_id: operatorId,
      address: '127.0.0.1',
      method: 'POST',
      path: '/admin/users',
    };
    assert.partialDeepStrictEqual(change, { event: 'change', ...who, body: { display_name: 'Ann' } });
    assert.partialDeepStrictEqual(result, { event: 'result', ...who, of: change.sequence, status: 201, after: user });
  });

  test('a result holds the members that changed, before and after', async () => {
    await server.admin.pause();
    const [paused] = await lastChange();
    assert.deepEqual([paused.operator, paused.before], ['bootstrap', { paused: false }]);
    await server.admin.resume();
    const event = await server.admin.createEvent({ title: 'Rain', description: 'old' });
    await server.adminRequest('PATCH', `/admin/events/${event.id}`, { description: 'new' });
    const [{ before, after: now }] = await lastChange();
    assert.equal(before?.['description'], 'old');
    assert.equal(now?.['description'], 'new');
    assert.ok(!('title' in before!), 'what stayed is left out');
    const { id } = await server.admin.createUser({});
    const wallet = checksumAddress(`0x${'ab'.repeat(20)}`);
    await server.admin.addWallet(id, wallet);
    const [linked] = await lastChange();
    assert.deepEqual([linked.before?.['linked_wallets'], linked.after?.['linked_wallets']], [[], [wallet]]);
  });

  test('a refusal of a handler is recorded with its error; an earlier refusal is not', async () => {
    const { head } = await server.admin.audit({ limit: 1 });
    await server.adminRequest('POST', '/admin/users/none/wallets', { address: `0x${'1'.repeat(40)}` });
    const [result] = await lastChange();
    assert.partialDeepStrictEqual(result, { status: 404, code: 'NOT_FOUND', error: 'user not found' });
    await server.adminRequest('POST', '/admin/users', { nonsense: 1 });
    await server.admin.ledger();
    assert.equal((await server.admin.audit({ limit: 1 })).head.sequence, head.sequence + 2);
  });

  test('no secret is ever in a record', async () => {
    const { id } = await server.admin.createUser({});
    const key = await server.admin.createApiKey(id, { scopes: ['read:account'] });
    const { token } = await server.admin.createOperator({ name: 'bob', roles: ['viewer'] });
    await server.request('GET', '/admin/ledger', undefined, { authorization: 'Bearer a-guess-at-the-token' });
    const file = checkedFile().join('\n');
    for (const secret of [key.secret, key.passphrase, token.split('.')[1]!, server.adminToken, 'a-guess-at']) {
      assert.ok(!file.includes(secret), secret);
    }
    assert.ok(file.includes(key.key_id));
  });

  test('pages of any size join to the whole log, and filters select from it', async () => {
    const all = await recordsOf();
    assert.deepEqual(
      all.map(({ sequence }) => sequence),
      all.map((_, i) => all.length - i),
    );
    // A refused login of an earlier test may be recorded in the meantime.
    const found = async (query: AuditQuery): Promise<AuditRecord[]> =>
      (await recordsOf(query)).filter(({ sequence }) => sequence <= all.length);
    for (const limit of [1, 7]) assert.deepEqual(await found({ limit }), all);
    const fits: [AuditQuery, (record: AuditRecord) => boolean][] = [
      [{ operator: 'ada' }, ({ operator }) => operator === 'ada'],
      [{ event: 'result' }, ({ event }) => event === 'result'],
      [{ path: '/admin/users', limit: 2 }, ({ path }) => path?.startsWith('/admin/users') === true],
      [{ since: all[4]!.time }, ({ time }) => time >= all[4]!.time],
      [{ until: all[4]!.time }, ({ time }) => time < all[4]!.time],
      [{ operator: 'ada', event: 'start' }, () => false],
    ];
    for (const [query, isWanted] of fits) assert.deepEqual(await found(query), all.filter(isWanted));
  });

  test('a cursor that no page had is refused, and so is every other malformed parameter', async () => {
    const made = (text: string): string => Buffer.from(text).toString('base64url');
    for (const cursor of ['x', made('1.1'), made('2.0'), made('1.99999999'), made('-1.0'), made('1.0.0')]) {
      const { status, body } = await server.adminRequest('GET', `/admin/audit?cursor=${cursor}`);
      assert.deepEqual([status, body.error], [400, 'invalid cursor'], cursor);
    }
    for (const query of ['limit=0', 'limit=1001', 'event=none', 'since=yesterday', 'who=ada', 'limit=1&limit=2']) {
      assert.equal((await server.adminRequest('GET', `/admin/audit?${query}`)).status, 400, query);
    }
    const viewer = await server.admin.createOperator({ name: 'eve', roles: ['viewer'] });
    const asViewer = { authorization: `Bearer ${viewer.token}` };
    assert.equal((await server.request('GET', '/admin/audit', undefined, asViewer)).status, 200);
  });

  test('after kill -9 each change that was answered has both records, and each that was made has one', async () => {
    const answered: string[] = [];
    const changes = Array.from({ length: 60 }, async (_, i) => {
      const { body } = await server.adminRequest('POST', '/admin/events', { title: `Event ${i}`, slug: `event-${i}` });
      answered.push(body.slug);
      if (answered.length === 10) await server.kill();
    });
    await Promise.allSettled(changes);
    await server.restart();
    const records = checkedFile().map((line) => JSON.parse(line) as AuditRecord);
    const attempts = records.filter(({ event, path }) => event === 'change' && path === '/admin/events');
    const closed = new Map(records.filter(({ of }) => of !== undefined).map((record) => [record.of, record]));
    for (const { sequence } of attempts) assert.ok(closed.has(sequence), `change ${sequence} has an end`);
    const recorded = attempts.filter(({ sequence }) => closed.get(sequence)!.event === 'result');
    const slugsOf = (list: AuditRecord[]): unknown[] => list.map(({ body }) => body?.['slug']);
    for (const slug of answered) assert.ok(slugsOf(recorded).includes(slug), `${slug} was answered`);
    const { body } = await server.request('GET', '/v1/events?limit=100');
    const made = (body.events as { slug: string }[]).filter(({ slug }) => /^event-\d+$/.test(slug));
    assert.ok(made.length >= answered.length);
    for (const { slug } of made) assert.ok(slugsOf(attempts).includes(slug), `${slug} was made`);
  });
});

describe('npm run admin -- audit-log', () => {
  const path = join(server.dataDir, 'audit.log');

  type Ran = { status: number | null; records: AuditRecord[]; verdict: string[] };
  async function exported(...args: string[]): Promise<Ran> {
    const { status, stdout, stderr } = await runAdminHere(['audit-log', ...args], { DATA_DIR: server.dataDir });
    const records = stdout.split('\n').filter((line) => line.startsWith('{'));
    return { status, records: records.map((line) => JSON.parse(line)), verdict: stderr.trimEnd().split('\n') };
  }

  /** The verdict of the command, without a process of its own. */
  async function inspected(): Promise<{ isSound: boolean; verdict: readonly string[] }> {
    const check = await AuditLogCheck.of(server.dataDir);
    for await (const line of check.lines(1)) assert.ok(line.endsWith('\n'));
    const { lines, isSound } = check.report();
    return { isSound, verdict: lines };
  }

  test('exports what a running exchange has written, and verifies it', async () => {
    await server.admin.pause();
    await server.admin.resume();
    const { status, records, verdict } = await exported();
    assert.equal(status, 0, verdict.join('\n'));
    assert.equal(verdict.at(-1), 'the chain is whole');
    assert.match(verdict.join('\n'), /the exchange is running/);
    assert.deepEqual(records.toReversed(), await recordsOf());
    assert.equal((await exported('--from', '5')).records[0]!.sequence, 5);
  });

  test('failed logins are recorded with their address, and further ones are added later together', async () => {
    const earlier = (await recordsOf({ event: 'logins_refused' })).length;
    for (let i = 0; i < 51; i++) {
      await server.request('GET', '/admin/ledger', undefined, { authorization: 'Bearer wrong' });
    }
    const records = await recordsOf({ event: 'logins_refused' });
    assert.equal(records.length, earlier + 1);
    assert.partialDeepStrictEqual(records[0]!.attempts, [{ address: '127.0.0.1', fault: 'invalid' }]);
    await server.stop();
    const written = checkedFile().map((line) => JSON.parse(line) as AuditRecord);
    const last = written.findLast(({ event }) => event === 'logins_refused');
    assert.ok(last!.count! >= 50, 'a stop records what was counted');
  });

  test('finds every change in the files of a stopped exchange', async () => {
    await server.stop();
    const whole = readFileSync(path, 'utf8');
    const lines = whole.split('\n').slice(0, -1);
    const middle = lines.length >> 1;
    const forged = chainLine(readLine(lines[middle - 1]!, null)!, { event: 'stop' }, deriveAuditKey(Buffer.alloc(32)));
    const changes: [string, string[], RegExp][] = [
      ['nothing', lines, /^the chain is whole$/],
      ['one digit of a record', lines.with(middle, lines[middle]!.replace('":"2', '":"3')), /is not as it was written/],
      [
        'a record is removed',
        lines.toSpliced(middle, 1),
        new RegExp(`records ${middle + 1} to ${middle + 1} are missing`),
      ],
      ['two records change places', lines.with(3, lines[4]!).with(4, lines[3]!), /stands after record|are missing/],
      ['the last record is removed', lines.slice(0, -1), /which control.db knows, is missing/],
      ['the first record is removed', lines.slice(1), /records 1 to 1 are missing/],
      ['everything is removed', [], /which control.db knows, is missing/],
      ['a record is added', [...lines, lines[middle]!], /stands after record/],
      ['the end is written anew', [...lines.slice(0, middle), forged.line], /were not written with this master key/],
    ];
    for (const [what, changed, verdict] of changes) {
      writeFileSync(path, changed.map((line) => `${line}\n`).join(''));
      const ran = await inspected();
      assert.equal(ran.isSound, what === 'nothing', what);
      assert.ok(
        ran.verdict.some((line) => verdict.test(line)),
        `${what}: ${ran.verdict.join('\n')}`,
      );
    }
    writeFileSync(path, whole);
  });

  test('a cut that the exchange has gone on after is still found', async () => {
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    writeFileSync(
      path,
      lines
        .slice(0, -3)
        .map((line) => `${line}\n`)
        .join(''),
    );
    await server.restart();
    await server.admin.pause();
    const { status, verdict } = await exported();
    assert.equal(status, 1);
    assert.ok(
      verdict.some((line) => line.includes('are missing: the exchange found the log cut')),
      verdict.join('\n'),
    );
  });
});
