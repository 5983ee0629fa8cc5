/** A catalogue as a file: imported line by line, exported, imported again (RULES.md 9.40 to 9.44). */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { fileScope } from '../support/fileScope.ts';
import { Pmx } from '../support/pmx.ts';
import { type Answer, type Json, startServer, type TestServer } from '../support/server.ts';

const FAR = '2099-01-01T00:00:00.000Z';
const HOUR_MS = 3_600_000;

const server = await startServer(fileScope);

type Line = { event: Record<string, unknown> } | { market: Record<string, unknown> } | string;

function market(externalEventId: string, more: Record<string, unknown> = {}): Line {
  const least = { title: 'Will it rain?', description: 'Yes if it does.', category: 'Weather', trading_ends_at: FAR };
  return { market: { external_event_id: externalEventId, ...least, ...more } };
}

function textOf(lines: readonly Line[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

function importText(text: string, to: TestServer = server): Promise<Answer> {
  return to.adminRequest('POST', '/admin/catalogue/import', text);
}

async function imported(lines: readonly Line[], to: TestServer = server): Promise<Json> {
  const { status, body } = await importText(textOf(lines), to);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function exported(from: TestServer = server): Promise<string> {
  const headers = { authorization: `Bearer ${from.adminToken}` };
  const answer = await fetch(`${from.baseUrl}/admin/catalogue/export`, { headers });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/x-ndjson');
  return answer.text();
}

function counts({ created, updated, unchanged, failed }: Json): number[] {
  return [created, updated, unchanged, failed];
}

async function marketOf(id: string, from: TestServer = server): Promise<Json> {
  return (await from.request('GET', `/v1/markets/${id}`)).body;
}

describe('an import', () => {
  test('makes events and their markets, and says so of each line', async () => {
    const body = await imported([
      { event: { slug: 'rain-week', title: 'A week of rain', category: 'Weather', sport_teams: ['North', 'South'] } },
      '',
      market('rain-monday', { event_slug: 'rain-week', fee_bps: 20, line: 0.5, ticks_per_unit: 1000 }),
    ]);
    assert.deepEqual(counts(body), [2, 0, 0, 0]);
    const [event, made] = body.lines;
    assert.deepEqual([event.line, event.kind, event.slug, event.result], [1, 'event', 'rain-week', 'created']);
    assert.deepEqual([made.line, made.kind, made.result], [3, 'market', 'created']);
    const shown = await marketOf(made.id);
    assert.deepEqual([shown.event_id, shown.fee_bps, shown.line, shown.status], [event.id, 20, 0.5, 'active']);
  });

  test('of the same file changes nothing, and of a changed line only its own fields', async () => {
    const file = [
      { event: { slug: 'again', title: 'Again', start_time: FAR } },
      market('again-1', { event_slug: 'again', subcategories: ['Rain', 'Sea'], settlement_sources: null }),
      market('again-2', { trading_starts_at: '2098-01-01T00:00:00+01:00', player_name: 'A. Player' }),
    ];
    const first = await imported(file);
    const before = await exported();
    assert.deepEqual(counts(await imported(file)), [0, 0, 3, 0]);
    assert.equal(await exported(), before);
    const [, changed] = [
      file[0],
      market('again-1', { title: 'Will it pour?', fee_bps: 7, trading_ends_at: '2098-06-01T00:00:00Z' }),
    ];
    const body = await imported([file[0]!, changed!, file[2]!]);
    assert.deepEqual(counts(body), [0, 1, 2, 0]);
    assert.equal(body.lines[1].id, first.lines[1].id);
    const shown = await marketOf(body.lines[1].id);
    assert.deepEqual(
      [shown.title, shown.fee_bps, shown.trading_ends_at, shown.subcategories, shown.event_id],
      ['Will it pour?', 7, '2098-06-01T00:00:00.000Z', ['Rain', 'Sea'], first.lines[0].id],
    );
    const removed = await imported([
      market('again-2', { player_name: null }),
      { event: { slug: 'again', status: 'live' } },
    ]);
    assert.deepEqual(counts(removed), [0, 2, 0, 0]);
    assert.ok(!('player_name' in (await marketOf(removed.lines[0].id))));
  });

  test('changes a market that was made otherwise, by its id, and a line need not repeat what stays', async () => {
    const made = await server.admin.createMarket({
      title: 'By hand',
      description: '',
      category: 'Weather',
      trading_ends_at: FAR,
    });
    const body = await imported([{ market: { id: made.id.toUpperCase(), subtitle: 'now with one' } }]);
    assert.deepEqual(counts(body), [0, 1, 0, 0]);
    const shown = await marketOf(made.id);
    assert.deepEqual([shown.title, shown.subtitle], ['By hand', 'now with one']);
  });

  test('sees in a line the changes of the lines before it', async () => {
    const body = await imported([
      market('twice', { event_slug: 'later' }),
      { event: { slug: 'later', title: 'Later' } },
      market('twice', { event_slug: 'later' }),
      market('twice', { event_slug: 'later', title: 'Another title' }),
      market('twice', { event_slug: 'later', title: 'Another title' }),
    ]);
    assert.deepEqual(
      body.lines.map(({ result }: Json) => result),
      ['failed', 'created', 'created', 'updated', 'unchanged'],
    );
  });

  test('leaves the status to clock and administrator, and publishes a draft', async () => {
    const draft = market('draft', { status: 'draft' });
    const { id } = (await imported([draft])).lines[0];
    assert.equal((await marketOf(id)).status, 'draft');
    const published = await imported([market('draft', { status: 'active' })]);
    assert.deepEqual(counts(published), [0, 1, 0, 0]);
    assert.match((await marketOf(id)).status, /^(?:pending|active)$/);
    await server.admin.cancelMarket(id);
    assert.deepEqual(counts(await imported([draft])), [0, 0, 1, 0]);
    assert.equal((await marketOf(id)).status, 'cancelled');
  });
});

describe('a line that fails', () => {
  test('has its number and the error of a single request, and stops no other line', async () => {
    const taken = (await imported([market('taken', { yes_token_id: '71', no_token_id: '72' })])).lines[0].id;
    const lines: [Line, string, string][] = [
      ['{"market": ', 'VALIDATION_ERROR', 'body is not valid JSON'],
      ['{"event": {"slug": "a"}, "event": {"slug": "b"}}', 'VALIDATION_ERROR', 'body has a duplicate field'],
      ['{}', 'VALIDATION_ERROR', 'invalid body'],
      [{ market: { title: 'No key' } }, 'VALIDATION_ERROR', 'missing field: id'],
      [market('bad', { titel: 'x' }), 'VALIDATION_ERROR', 'unknown field: titel'],
      [market('bad', { title: '' }), 'VALIDATION_ERROR', 'invalid title'],
      [market('bad', { category: undefined }), 'VALIDATION_ERROR', 'missing field: category'],
      [market('bad', { trading_ends_at: '2020-01-01T00:00:00Z' }), 'VALIDATION_ERROR', 'invalid trading_ends_at'],
      [market('bad', { status: 'settled' }), 'VALIDATION_ERROR', 'invalid status'],
      [market('bad', { event_slug: 'nowhere' }), 'NOT_FOUND', 'event not found'],
      [market('bad', { event_slug: 'x', event_id: taken }), 'VALIDATION_ERROR', 'invalid event_slug'],
      [market('bad', { yes_token_id: '72', no_token_id: '73' }), 'CONFLICT', 'token id is used by another market'],
      [market('taken', { ticks_per_unit: 10 }), 'CONFLICT', 'ticks_per_unit never changes'],
      [market('taken', { yes_token_id: '74' }), 'CONFLICT', 'yes_token_id never changes'],
      [{ event: { slug: 'untitled' } }, 'VALIDATION_ERROR', 'missing field: title'],
      [{ event: { slug: 'Not A Slug', title: 'x' } }, 'VALIDATION_ERROR', 'invalid slug'],
      [market('large', { description: 'x'.repeat(70_000) }), 'PAYLOAD_TOO_LARGE', 'line too large'],
    ];
    const body = await imported([...lines.map(([line]) => line), market('good')]);
    assert.deepEqual(counts(body), [1, 0, 0, lines.length]);
    for (const [at, [, code, error]] of lines.entries()) {
      const { line, result, ...said } = body.lines[at];
      assert.deepEqual([line, result, said.code, said.error], [at + 1, 'failed', code, error]);
    }
    assert.equal(body.lines.at(-1).result, 'created');
    assert.deepEqual(body.lines[4].details, { field: 'market.titel', rule: 'additionalProperties' });
  });

  test('an id and a slug belong to one event for ever', async () => {
    const [{ id }] = (await imported([{ event: { slug: 'mine', title: 'Mine' } }])).lines;
    const body = await imported([
      { event: { slug: 'mine', id: '00000000-0000-4000-8000-000000000001' } },
      { event: { slug: 'other', title: 'Other', id } },
    ]);
    assert.deepEqual(
      body.lines.map(({ code, error }: Json) => [code, error]),
      [
        ['CONFLICT', 'id of an event never changes'],
        ['CONFLICT', 'id is used by another event'],
      ],
    );
  });
});

describe('the request', () => {
  test('is bounded in lines and bytes, needs a body and the role, and is not JSON itself', async () => {
    const refusal = ({ status, body }: Answer): unknown[] => [status, body.code, body.error];
    assert.deepEqual(refusal(await importText('\n'.repeat(1001))), [400, 'VALIDATION_ERROR', 'more than 1000 lines']);
    assert.deepEqual(counts((await importText('\n'.repeat(1000))).body), [0, 0, 0, 0]);
    assert.deepEqual(refusal(await importText(' '.repeat(1_048_577))), [
      413,
      'PAYLOAD_TOO_LARGE',
      'request body too large',
    ]);
    const none = await server.adminRequest('POST', '/admin/catalogue/import');
    assert.deepEqual(refusal(none), [400, 'VALIDATION_ERROR', 'missing body']);
    const { token } = await server.admin.createOperator({ name: 'reader', roles: ['viewer'] });
    const headers = { authorization: `Bearer ${token}` };
    const asReader = await server.request('POST', '/admin/catalogue/import', textOf([market('role')]), headers);
    assert.deepEqual([asReader.status, asReader.body.code], [403, 'INSUFFICIENT_ROLE']);
    assert.equal((await fetch(`${server.baseUrl}/admin/catalogue/export`, { headers })).status, 200);
    assert.equal((await fetch(`${server.baseUrl}/admin/catalogue/export`)).status, 401);
  });

  test('is in the audit log with its counts and its hash, without its lines', async () => {
    const text = textOf([market('audited'), '{']);
    await importText(text);
    const { records } = await server.admin.audit({ limit: 2, path: '/admin/catalogue/import' });
    const [result, change] = records as Json[];
    const sha256 = createHash('sha256').update(text).digest('hex');
    const after = { created: 1, updated: 0, unchanged: 0, failed: 1, bytes: text.length, sha256 };
    assert.deepEqual([result.event, result.after], ['result', after]);
    assert.deepEqual([change.event, change.body], ['change', undefined]);
  });
});

describe('an export', () => {
  test('imported into an empty exchange gives the same bytes there', async (t) => {
    const other = await startServer(t, { SHARDS: '3' });
    const file = await exported();
    const lines = file.trimEnd().split('\n');
    const isOver = (line: string): boolean => line.includes('"status":"cancelled"');
    const body = await imported(lines, other);
    assert.deepEqual(counts(body), [lines.length - lines.filter(isOver).length, 0, 0, lines.filter(isOver).length]);
    // A draft that was published is pending until its shard has looked at the clock.
    const withoutOver = lines.filter((line) => !isOver(line)).join('\n');
    assert.equal((await exported(other)).trimEnd(), withoutOver);
    assert.deepEqual(counts(await imported(withoutOver.split('\n'), other)), [0, 0, body.created, 0]);
  });

  test('is written in pieces while others are answered', async () => {
    await imported(Array.from({ length: 200 }, (_, at) => market(`long-${at}`, { description: 'x'.repeat(2000) })));
    const [file] = await Promise.all([exported(), server.request('GET', '/health')]);
    assert.ok(file.length > 400_000);
    const ids = file
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line).market ?? JSON.parse(line).event).id);
    assert.equal(new Set(ids).size, ids.length);
  });
});

async function run(args: readonly string[], more: Record<string, string> = {}): Promise<[number, string, string]> {
  const env = { DATA_DIR: server.dataDir, BASE_URL: server.baseUrl, ADMIN_TOKEN: server.adminToken, ...more };
  const { code, out, err } = await new Pmx(env).run(['admin', 'catalogue', ...args]);
  return [code, out, err];
}

describe('pmx admin catalogue', () => {
  test('a file with a byte order mark and lines that end as those of Windows is read as what it is', async () => {
    const path = join(temporaryDirectory(), 'windows.ndjson');
    const lines = [market('windows-1'), market('windows-2')].map((line) => `${JSON.stringify(line)}\r\n`);
    writeFileSync(path, `\ufeff${lines.join('')}`);
    const [code, out] = await run(['import', path]);
    assert.deepEqual([code, out.match(/\d+ (?:created|failed)/g)], [0, ['2 created', '0 failed']], out);
  });

  test('quoted text of a failed line is shown without control characters of a terminal', async () => {
    const path = join(temporaryDirectory(), 'hidden.ndjson');
    writeFileSync(path, textOf([market('hidden', { title: 'Rain\u001b[2J\u202e' })]));
    const [code, , err] = await run(['import', path]);
    assert.equal(code, 1);
    assert.match(err, /^line 1: VALIDATION_ERROR: invalid title/m);
    assert.ok(!err.includes('\u001b') && !err.includes('\u202e'), err);
  });

  test('import sends a long file in parts and names lines that fail; export writes what import reads', async () => {
    const path = join(temporaryDirectory(), 'long.ndjson');
    const lines = Array.from({ length: 1500 }, (_, at) => market(`cli-${at}`));
    lines[1207] = market('cli-1207', { title: '' });
    writeFileSync(path, textOf(lines));
    const at = `at ${server.baseUrl}\n`;
    const bad =
      at +
      'line 1208: VALIDATION_ERROR: invalid title ' +
      '{"field":"market.title","rule":"minLength","expected":"at least 1 characters","value":""}\n';
    const first = await run(['import', path]);
    assert.deepEqual(first, [1, '1500 lines: 1499 created, 0 updated, 0 unchanged, 1 failed\n', bad]);
    lines[1207] = market('cli-1207', { title: 'Repaired' });
    writeFileSync(path, textOf(lines));
    const again = await run(['import', path]);
    assert.deepEqual(again, [0, '1500 lines: 1 created, 0 updated, 1499 unchanged, 0 failed\n', at]);
    const copy = join(temporaryDirectory(), 'copy.ndjson');
    assert.deepEqual(await run(['export', copy]), [0, '', '']);
    assert.equal(readFileSync(copy, 'utf8'), await exported());
    const [status, stdout] = await run(['import', copy, '--url', server.baseUrl], {
      BASE_URL: 'http://nowhere.invalid',
    });
    assert.match(stdout, /^[0-9]+ lines: 0 created, 0 updated, [0-9]+ unchanged, 0 failed\n$/);
    assert.equal(status, 0);
  });

  test('explains what is missing in one line', async () => {
    const errors = await Promise.all([
      run(['import', '/no/file']),
      run(['export', '-'], { ADMIN_TOKEN: '' }),
      run(['export', '-'], { ADMIN_TOKEN: 'wrong' }),
      run(['import']),
    ]);
    assert.deepEqual(
      errors.map(([status]) => status),
      [1, 4, 4, 2],
    );
    assert.match(errors[0]![2], /^error: ENOENT[^\n]*\n$/);
    assert.match(errors[1]![2], /^error: no token of an operator\n {2}hint +ADMIN_TOKEN/);
    assert.match(errors[2]![2], /^error: invalid admin token /);
    assert.match(errors[3]![2], /^error: admin catalogue import needs <file>\n/);
  });
});

test('an import that kill -9 cut off is completed by importing again', async () => {
  const until = Date.now() + 24 * HOUR_MS;
  const trading_ends_at = new Date(until).toISOString();
  const file = Array.from({ length: 900 }, (_, at) => market(`cut-${at}`, { trading_ends_at, fee_bps: at % 100 }));
  let isOver = false;
  const cut = importText(textOf(file))
    .catch(() => null)
    .finally(() => {
      isOver = true;
    });
  const made = async (): Promise<number> => (await exported()).match(/"cut-/g)?.length ?? 0;
  while (!isOver && (await made()) === 0) await new Promise((resolve) => setImmediate(resolve));
  await server.kill();
  assert.equal(await cut, null, 'the import was cut off');
  await server.start();
  const found = await made();
  assert.ok(found > 0 && found < 900, `${found} markets were there`);
  const body = await imported(file);
  assert.deepEqual(counts(body), [900 - found, 0, found, 0]);
  assert.equal(await made(), 900);
  assert.deepEqual(counts(await imported(file)), [0, 0, 900, 0]);
});
