import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { AdminClient } from '../../shared/client/admin.ts';
import type { IssuedOperator, OperatorRole } from '../../shared/client/types.ts';
import { type Answer, type Json, sharedServer } from '../support/server.ts';

const server = await sharedServer();

async function asOperator(token: string, method: string, path: string, body?: unknown): Promise<Answer> {
  return server.request(method, path, body, { authorization: `Bearer ${token}` });
}

function clientOf({ token }: IssuedOperator): AdminClient {
  return new AdminClient({ baseUrl: server.baseUrl, token });
}

let names = 0;
async function newOperator(...roles: OperatorRole[]): Promise<IssuedOperator> {
  names++;
  return server.admin.createOperator({ name: `operator-${names}`, roles });
}

async function refusal(method: string, path: string, body?: unknown): Promise<[number, string, string]> {
  const answer = await server.adminRequest(method, path, body);
  return [answer.status, answer.body.code, answer.body.error];
}

describe('operators', () => {
  test('one acts with its token and is listed without it; a revoked one is refused; over a restart too', async () => {
    const made = await newOperator('treasury');
    assert.match(made.token, /^opr_[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]{43}$/);
    assert.equal(made.created_by, 'bootstrap');
    const { id } = await clientOf(made).createUser({});
    const revoked = await newOperator('superuser');
    const feed = await openFeed(revoked.token);
    assert.equal((await server.admin.revokeOperator(revoked.id)).id, revoked.id);
    await feed.ended;
    assert.equal((await asOperator(revoked.token, 'GET', '/admin/ledger')).status, 401);
    await server.restart();
    assert.equal((await clientOf(made).createUser({})).id === id, false);
    const { token, ...shown } = made;
    const { operators } = await server.admin.operators();
    assert.deepEqual(operators.at(-2), shown);
    assert.ok(!JSON.stringify(operators).includes(token.split('.')[1]!));

    assert.equal((await asOperator(revoked.token, 'GET', '/admin/ledger')).status, 401);
    const again = await server.admin.revokeOperator(revoked.id);
    assert.notEqual(again.revoked_at, null);
    assert.deepEqual(await server.admin.revokeOperator(revoked.id), again);
  });

  test('the token is stored as a hash only', async () => {
    const { token } = await newOperator('viewer');
    const secret = token.split('.')[1]!;
    for (const file of ['control.db', 'control.db-wal']) {
      const bytes = readFileSync(join(server.dataDir, file));
      assert.ok(!bytes.includes(secret) && !bytes.includes(Buffer.from(secret, 'base64url')), file);
    }
  });

  test('a token with a wrong secret, of another operator or of none is 401', async () => {
    const [a, b] = [await newOperator('viewer'), await newOperator('viewer')];
    const secret = b.token.split('.')[1]!;
    for (const token of [`${a.id}.${secret}`, a.id, `${a.id}.`, `.${secret}`, `${a.token}x`, `opr_x.${secret}`]) {
      const { status, body } = await asOperator(token, 'GET', '/admin/operators');
      assert.deepEqual([status, body.error], [401, 'invalid admin token'], token);
    }
  });

  test('a name is never used twice, not even after its operator was revoked, and bootstrap is taken', async () => {
    const { id, name } = await newOperator('viewer');
    await server.admin.revokeOperator(id);
    const used = [409, 'CONFLICT', 'name is or was used by an operator'];
    assert.deepEqual(await refusal('POST', '/admin/operators', { name, roles: ['viewer'] }), used);
    assert.deepEqual(await refusal('POST', '/admin/operators', { name: 'bootstrap', roles: ['viewer'] }), used);
  });

  test('an unknown operator cannot be revoked', async () => {
    for (const id of ['opr_none', 'bootstrap']) {
      const answer = await refusal('DELETE', `/admin/operators/${id}`);
      assert.deepEqual(answer, [404, 'NOT_FOUND', 'operator not found'], id);
    }
  });

  const malformed: [string, unknown, string][] = [
    ['no name', { roles: ['viewer'] }, 'missing field: name'],
    ['a name with a space', { name: 'a b', roles: ['viewer'] }, 'invalid name'],
    ['no roles', { name: 'ada' }, 'missing field: roles'],
    ['an empty list of roles', { name: 'ada', roles: [] }, 'invalid roles'],
    ['an unknown role', { name: 'ada', roles: ['root'] }, 'invalid roles'],
    ['a role twice', { name: 'ada', roles: ['viewer', 'viewer'] }, 'invalid roles'],
    ['an unknown field', { name: 'ada', roles: ['viewer'], token: 'x' }, 'unknown field: token'],
  ];
  for (const [what, body, message] of malformed) {
    test(`${what} is refused`, async () => {
      assert.deepEqual(await refusal('POST', '/admin/operators', body), [400, 'VALIDATION_ERROR', message]);
    });
  }
});

describe('roles', () => {
  /** Every route of administrators, as the document names it and the role that it needs. */
  async function adminRoutes(): Promise<{ method: string; path: string; role: string }[]> {
    const { paths } = (await server.request('GET', '/openapi.json')).body;
    return Object.entries<Json>(paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods)
        .filter(() => path.startsWith('/admin/'))
        .map(([method, { security }]) => ({ method: method.toUpperCase(), path, role: security[0].adminToken[0] })),
    );
  }

  test('every route refuses each operator who lacks its role, before anything else is looked at', async () => {
    const byRole = { viewer: await newOperator('viewer') } as Record<string, IssuedOperator>;
    for (const role of ['catalogue', 'treasury'] as const) byRole[role] = await newOperator(role);
    const routes = await adminRoutes();
    assert.ok(routes.length > 20 && routes.every(({ role }) => role !== undefined));
    for (const { method, path, role } of routes) {
      for (const [own, { token }] of Object.entries(byRole)) {
        if (role === 'viewer' || role === own) continue;
        const { status, body } = await asOperator(token, method, path.replaceAll(/\{[^}]+\}/g, 'none'));
        assert.deepEqual([status, body.code], [403, 'INSUFFICIENT_ROLE'], `${own}: ${method} ${path}`);
      }
    }
  });

  test('only a superuser can make it possible to act for an account', async () => {
    const user = '/admin/users/{id}';
    const granting = [`${user}/wallets`, `${user}/delegates`, `${user}/api-keys`, '/admin/api-keys/{key_id}/rotate'];
    const roles = (await adminRoutes()).filter(({ method, path }) => method === 'POST' && granting.includes(path));
    assert.deepEqual(
      roles.map(({ role }) => role),
      granting.map(() => 'superuser'),
    );
  });

  test('what changes something needs more than a viewer', async () => {
    const open = (await adminRoutes()).filter(({ method, role }) => method !== 'GET' && role === 'viewer');
    // The needed role depends on the kind of the decision: test/api/approvals.test.ts.
    const decisions = ['/admin/approvals/{id}/approve', '/admin/approvals/{id}/reject'];
    assert.deepEqual(
      open.map(({ path }) => path),
      decisions,
    );
  });
});

test('an administrator revokes every operator, and the list says so', async () => {
  const active = async () => (await server.admin.operators()).operators.filter(({ revoked_at }) => revoked_at === null);
  const before = await active();
  assert.ok(before.length > 0);
  // Later files of the shared server decide markets without a second operator.
  for (const { id } of before) await server.admin.revokeOperator(id);
  assert.deepEqual(await active(), []);
});

/** Resolves once the stream of changes is open. */
function openFeed(token: string): Promise<{ ended: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get(`${server.baseUrl}/admin/events`, { agent: false, headers }, (response) => {
      const ended = new Promise<void>((end) => response.on('close', end).on('error', () => end()));
      response.once('data', () => resolve({ ended }));
    }).on('error', reject);
  });
}
