import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { AdminClient } from '../../shared/client/admin.ts';
import { ApprovalNeededError } from '../../shared/client/approvalNeeded.ts';
import type { Approval, IssuedOperator, OperatorRole } from '../../shared/client/types.ts';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { type Answer, type Json, startServer } from '../support/server.ts';
import { assertBalanced } from '../support/traders.ts';

const ABOVE_MICRO = 1_000_000;
const SETTINGS = { SHARDS: '1', APPROVAL_ABOVE_MICRO: String(ABOVE_MICRO) };
const MARKET = {
  title: 'Rain?',
  description: 'Yes if so.',
  category: 'Weather',
  trading_ends_at: '2099-01-01T00:00:00.000Z',
};
const NOBODY = '00000000-0000-4000-8000-000000000000';

const server = await startServer(fileScope, SETTINGS);

type Person = { readonly id: string; readonly name: string; readonly client: AdminClient; readonly token: string };
let names = 0;

async function person(...roles: OperatorRole[]): Promise<Person> {
  return madeBy(server.admin, ...roles);
}

async function madeBy(maker: AdminClient, ...roles: OperatorRole[]): Promise<Person> {
  names++;
  return personOf(await maker.createOperator({ name: `person-${names}`, roles }));
}

function personOf({ id, name, token }: IssuedOperator): Person {
  return { id, name, token, client: new AdminClient({ baseUrl: server.baseUrl, token }) };
}

function as({ token }: Person, method: string, path: string, body?: unknown): Promise<Answer> {
  return server.request(method, path, body, { authorization: `Bearer ${token}` });
}

async function newUser(depositMicro = 10 * ABOVE_MICRO): Promise<string> {
  const { id } = await server.admin.createUser({});
  await server.admin.deposit(id, { amount_usdc_micro: String(depositMicro) });
  return id;
}

async function availableOf(userId: string): Promise<string> {
  return (await server.adminRequest('GET', `/admin/users/${userId}`)).body.usdc.available;
}

/** The approval that the operator has to wait for. */
async function asks(who: Person, userId: string, amountMicro: number, reference?: string): Promise<Approval> {
  const body = { amount_usdc_micro: String(amountMicro), reference };
  const { status, body: approval } = await as(who, 'POST', `/admin/users/${userId}/withdrawals`, body);
  assert.equal(status, 202);
  return approval;
}

function refusalOf({ status, body }: Answer): [number, string, string] {
  return [status, body.code, body.error];
}

test('with one operator alone nothing waits', async () => {
  const userId = await newUser();
  assert.equal(
    (await server.admin.withdraw(userId, { amount_usdc_micro: String(2 * ABOVE_MICRO) })).status,
    'completed',
  );
  const { id } = await server.admin.createMarket(MARKET);
  assert.equal((await server.admin.resolveMarket(id, { outcome_index: 0 })).status, 'resolved');
  await person('viewer');
  const another = await server.admin.createMarket(MARKET);
  await server.admin.cancelMarket(another.id);
});

describe('with a second operator', () => {
  let ann: Person;
  let ben: Person;
  let root: Person;

  before(async () => {
    ann = await person('treasury', 'catalogue');
    ben = await person('treasury', 'catalogue');
    root = await person('superuser');
  });

  test('a withdrawal above the limit waits until another one approves it, and is carried out once', async () => {
    const userId = await newUser();
    const small = await ann.client.withdraw(userId, { amount_usdc_micro: String(ABOVE_MICRO) });
    assert.equal(small.status, 'completed');
    const asked = await asks(ann, userId, 2 * ABOVE_MICRO, 'wire 7');
    assert.partialDeepStrictEqual(asked, {
      kind: 'withdrawal',
      status: 'pending',
      requested_by: ann.name,
      decided_by: null,
    });
    assert.equal(await availableOf(userId), String(9 * ABOVE_MICRO));
    assert.deepEqual(await asks(ann, userId, 2 * ABOVE_MICRO, 'wire 7'), asked, 'a repeat is the same request');
    const done = await ben.client.approve(asked.id);
    assert.partialDeepStrictEqual(done, { status: 'carried_out', decided_by: ben.name, failure: null });
    assert.equal(await availableOf(userId), String(7 * ABOVE_MICRO));
    assert.deepEqual(await ben.client.approve(asked.id), done, 'approving again answers the same');
    const repeat = await ann.client.withdraw(userId, {
      amount_usdc_micro: String(2 * ABOVE_MICRO),
      reference: 'wire 7',
    });
    assert.equal(repeat.status, 'completed');
    assert.equal(await availableOf(userId), String(7 * ABOVE_MICRO));
  });

  test('the typed client does not take a request for a result', async () => {
    const userId = await newUser();
    const withdrawn = ann.client.withdraw(userId, { amount_usdc_micro: String(2 * ABOVE_MICRO) });
    await assert.rejects(
      withdrawn,
      (error) => error instanceof ApprovalNeededError && error.approval.status === 'pending',
    );
  });

  test('a resolution, a cancellation and new contracts wait too, and the bootstrap superuser as well', async () => {
    const { id } = await server.admin.createMarket(MARKET);
    const resolved = await as(ann, 'POST', `/admin/markets/${id}/resolve`, { outcome_index: 1 });
    assert.deepEqual([resolved.status, resolved.body.kind], [202, 'resolution']);
    const other = await as(ben, 'POST', `/admin/markets/${id}/resolve`, { outcome_index: 0 });
    assert.deepEqual(refusalOf(other), [409, 'CONFLICT', 'another request about this waits for approval']);
    await ben.client.approve(resolved.body.id);
    const { body: market } = await server.request('GET', `/v1/markets/${id}`);
    assert.equal(market.status, 'resolved');
    const again = await as(ann, 'POST', `/admin/markets/${id}/resolve`, { outcome_index: 1 });
    assert.equal(again.status, 409, 'a market that is decided waits for nothing');

    const second = await server.admin.createMarket(MARKET);
    const cancelled = await server.adminRequest('POST', `/admin/markets/${second.id}/cancel`, {});
    assert.equal(cancelled.status, 202);
    assert.equal((await ann.client.approve(cancelled.body.id)).status, 'carried_out');

    const exchange_address = `0x${'5'.repeat(40)}`;
    const contracts = await as(root, 'POST', '/admin/platform/contracts', { exchange_address });
    assert.equal(contracts.status, 202);
    assert.equal((await server.admin.approve(contracts.body.id)).status, 'carried_out');
    assert.equal((await server.admin.platform()).contracts.exchange_address, exchange_address);
  });

  test('no operator approves their own request, or one of an operator whose token they have seen', async () => {
    const userId = await newUser();
    const boss = await person('superuser');
    const puppet = await madeBy(boss.client, 'treasury');
    const sibling = await madeBy(boss.client, 'treasury');
    const asked = await asks(puppet, userId, 2 * ABOVE_MICRO);
    const own = [403, 'SECOND_OPERATOR_REQUIRED', 'another operator has to decide this'];
    for (const who of [puppet, boss, sibling]) {
      assert.deepEqual(refusalOf(await as(who, 'POST', `/admin/approvals/${asked.id}/approve`)), own);
    }
    assert.equal(await availableOf(userId), String(10 * ABOVE_MICRO));
    assert.equal((await ben.client.approve(asked.id)).status, 'carried_out');
  });

  test('no operator can create another one to approve their own request', async () => {
    const userId = await newUser();
    const body = { amount_usdc_micro: String(2 * ABOVE_MICRO), reference: 'wire for later' };
    const path = `/admin/users/${userId}/withdrawals`;
    const asked = await server.adminRequest('POST', path, body);
    assert.equal(asked.status, 202);
    const helper = await person('treasury', 'superuser');
    const own = [403, 'SECOND_OPERATOR_REQUIRED', 'another operator has to decide this'];
    const at = `/admin/approvals/${asked.body.id}/approve`;
    assert.deepEqual(refusalOf(await as(helper, 'POST', at)), own);
    assert.equal(await availableOf(userId), String(10 * ABOVE_MICRO));
    assert.equal((await ben.client.approve(asked.body.id)).status, 'carried_out');
  });

  test('who may not do it may not approve it; who may, may reject it, and so may the one who asked', async () => {
    const userId = await newUser();
    const asked = await asks(ann, userId, 2 * ABOVE_MICRO);
    const clerk = await person('catalogue');
    for (const decision of ['approve', 'reject']) {
      const answer = await as(clerk, 'POST', `/admin/approvals/${asked.id}/${decision}`);
      assert.deepEqual([answer.status, answer.body.code], [403, 'INSUFFICIENT_ROLE'], decision);
    }
    assert.equal((await ann.client.reject(asked.id)).status, 'rejected');
    assert.equal((await ann.client.reject(asked.id)).status, 'rejected', 'a repeat changes nothing');
    const late = await as(ben, 'POST', `/admin/approvals/${asked.id}/approve`);
    assert.deepEqual(refusalOf(late), [409, 'CONFLICT', 'the request is rejected']);
    const another = await asks(ann, userId, 2 * ABOVE_MICRO);
    assert.equal((await ben.client.reject(another.id)).decided_by, ben.name);
  });

  test('a trade that has not failed is neither tried again nor unwound, and asks for no approval', async () => {
    assert.deepEqual(await ann.client.failedTrades(), { trades: [], next_cursor: null });
    const clerk = await person('catalogue');
    for (const act of ['retry', 'unwind']) {
      const path = `/admin/settlement/trades/${NOBODY}/${act}`;
      assert.deepEqual(refusalOf(await as(ann, 'POST', path)), [404, 'NOT_FOUND', 'trade not found']);
      assert.equal((await as(clerk, 'POST', path)).body.code, 'INSUFFICIENT_ROLE');
    }
    assert.deepEqual(await ann.client.waitingMoney(), { movements: [], total: 0 });
    const wrong = await as(ann, 'GET', '/admin/settlement/money?offset=-1');
    assert.deepEqual([wrong.status, wrong.body.error], [400, 'invalid offset']);
    const bad = await as(ann, 'GET', '/admin/settlement/failed?limit=0');
    assert.deepEqual([bad.status, bad.body.error], [400, 'invalid limit']);
    const { approvals } = await ann.client.approvals({ limit: 1 });
    assert.notEqual(approvals[0]?.kind, 'unwinding');
  });

  test('a request of a revoked operator is void, and a revoked operator approves nothing', async () => {
    const userId = await newUser();
    const [asker, approver] = [await person('treasury'), await person('treasury')];
    const asked = await asks(asker, userId, 2 * ABOVE_MICRO, 'wire 8');
    await server.admin.revokeOperator(approver.id);
    assert.equal((await as(approver, 'POST', `/admin/approvals/${asked.id}/approve`)).status, 401);
    await server.admin.revokeOperator(asker.id);
    assert.equal((await server.admin.approval(asked.id)).status, 'void');
    const answer = await as(ben, 'POST', `/admin/approvals/${asked.id}/approve`);
    assert.deepEqual(refusalOf(answer), [409, 'CONFLICT', 'the request is void']);
    assert.notEqual((await asks(ann, userId, 2 * ABOVE_MICRO, 'wire 8')).id, asked.id, 'another one may ask');
  });

  test('a change that is refused when it is carried out has failed, and says why', async () => {
    const userId = await newUser(3 * ABOVE_MICRO);
    const asked = await asks(ann, userId, 2 * ABOVE_MICRO, 'wire 9');
    await ann.client.withdraw(userId, { amount_usdc_micro: String(ABOVE_MICRO) });
    await ann.client.withdraw(userId, { amount_usdc_micro: String(ABOVE_MICRO) });
    const { status, failure } = await ben.client.approve(asked.id);
    assert.deepEqual([status, failure?.code], ['failed', 'INSUFFICIENT_BALANCE']);
    assert.equal(await availableOf(userId), String(ABOVE_MICRO));
  });

  test('requests are listed newest first, page by page, and unknown ones are 404', async () => {
    const { approvals: all } = await server.admin.approvals({ limit: 100 });
    const pages: Approval[] = [];
    for (let cursor: number | undefined; ; ) {
      const page = await server.admin.approvals({ limit: 3, cursor });
      pages.push(...page.approvals);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    assert.deepEqual(pages, all);
    assert.ok(all.length > 6);
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/approve'],
      ['POST', '/reject'],
    ] as const) {
      const answer = await server.adminRequest(method, `/admin/approvals/${NOBODY}${path}`);
      assert.deepEqual(refusalOf(answer), [404, 'NOT_FOUND', 'approval not found']);
    }
    assert.equal((await server.adminRequest('GET', '/admin/approvals?limit=0')).status, 400);
  });

  test('waiting requests survive kill -9, and an approved one is carried out once, before or after it', async () => {
    const users = await Promise.all(Array.from({ length: 8 }, () => newUser()));
    const asked = await Promise.all(users.map((id) => asks(ann, id, 2 * ABOVE_MICRO)));
    const [waiting, ...rest] = asked;
    const answered = new Set<string>();
    const approving = rest.map(async ({ id }) => {
      await ben.client.approve(id);
      answered.add(id);
      if (answered.size === 2) await server.kill();
    });
    await Promise.allSettled(approving);
    await server.restart(SETTINGS);
    assert.equal((await server.admin.approval(waiting!.id)).status, 'pending');
    const second = new AdminClient({ baseUrl: server.baseUrl, token: ben.token });
    for (const [index, { id }] of rest.entries()) {
      const approval = await eventually('an end', async () => {
        const shown = await server.admin.approval(id);
        return shown.status !== 'approved' && shown;
      });
      if (answered.has(id)) assert.equal(approval.status, 'carried_out');
      assert.equal((await second.approve(id)).status, 'carried_out');
      assert.equal(await availableOf(users[index + 1]!), String(8 * ABOVE_MICRO));
    }
    assert.equal(await availableOf(users[0]!), String(10 * ABOVE_MICRO));
    await assertBalanced(server);
  });

  test('the audit log shows who requested and approved a change, and its result', async () => {
    const userId = (await server.admin.createUser({})).id;
    await server.admin.deposit(userId, { amount_usdc_micro: String(2 * ABOVE_MICRO) });
    const asked = await asks(ann, userId, 2 * ABOVE_MICRO);
    await as(ben, 'POST', `/admin/approvals/${asked.id}/approve`);
    const { records } = await server.admin.audit({ event: 'result', limit: 2 });
    const [approved, requested] = records as [Json, Json];
    assert.deepEqual([requested.operator, requested.status, requested.after.status], [ann.name, 202, 'pending']);
    assert.deepEqual([approved.operator, approved.before.status], [ben.name, 'pending']);
    assert.deepEqual([approved.after.status, approved.after.decided_by], ['carried_out', ben.name]);
  });
});
