/** Approved changes that are taken up again after a loss (RULES.md 9.17). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ApprovalEntry, type ApprovalRequest, Approvals } from '../../../../gateway/access/approvals.ts';
import { FourEyes } from '../../../../gateway/access/fourEyes.ts';
import { Operators } from '../../../../gateway/access/operators.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { type Administrator, BOOTSTRAP } from '../../../../gateway/base/principal.ts';
import type { Refusal } from '../../../../gateway/base/refusal.ts';
import type { OperatorRole } from '../../../../shared/api/operators.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const NOW_MS = 1_790_000_000_000;
const DAY_MS = 24 * 3_600_000;

test('a request waits for 24 hours to the millisecond, and then the same may be asked for again', async (t) => {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const operators = new Operators(database);
  const { operator } = operators.create('ada', ['treasury'], BOOTSTRAP, NOW_MS);
  const ada: Administrator = { ...operator, kind: 'administrator' };
  const clock = new ManualClock(NOW_MS);
  let carriedOut = 0;
  const fourEyes = new FourEyes({
    approvals: new Approvals(database),
    operators,
    carryOut: async () => {
      carriedOut++;
      return null;
    },
    clock,
    log: createLogger('silent'),
    onFinishedLater: () => {},
  });
  const ask = (): ApprovalEntry => {
    const request = { kind: 'withdrawal', user_id: 'eve', amount_usdc_micro: '1', reference: 'r' } as const;
    const asked = fourEyes.ask(ada, 'r', request);
    assert.ok(asked !== null && 'approval' in asked);
    return asked.approval;
  };
  const first = ask();
  clock.advance(DAY_MS - 1);
  assert.deepEqual([fourEyes.statusOf(first), ask().id], ['pending', first.id]);
  clock.advance(1);
  assert.equal(fourEyes.statusOf(first), 'expired');
  const decided = [await fourEyes.approve(first.id, BOOTSTRAP), fourEyes.reject(first.id, ada)];
  for (const each of decided) assert.ok('refusal' in each && each.refusal.message === 'the request is expired');
  assert.equal(carriedOut, 0);
  const second = ask();
  assert.notEqual(second.id, first.id);
  assert.ok('approval' in (await fourEyes.approve(second.id, BOOTSTRAP)));
  assert.equal(carriedOut, 1);
});

test('when two shards return at once, each change that was approved is carried out by one of them', async (t) => {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const approvals = new Approvals(database);
  for (const reference of ['first', 'second']) {
    const request = { kind: 'withdrawal', user_id: 'ada', amount_usdc_micro: '1', reference } as const;
    const { operatorId } = BOOTSTRAP;
    approvals.decide(approvals.add(reference, request, operatorId, NOW_MS, 1000), 'approved', operatorId, NOW_MS);
  }
  const errors: string[] = [];
  const carriedOut: string[] = [];
  const finished: string[] = [];
  const gate = Promise.withResolvers<void>();
  const fourEyes = new FourEyes({
    approvals,
    operators: new Operators(database),
    carryOut: async (request) => {
      const reference = request.kind === 'withdrawal' ? request.reference : '';
      carriedOut.push(reference);
      if (reference === 'first') await gate.promise;
      return null;
    },
    clock: new ManualClock(NOW_MS),
    log: createLogger('info', { write: (line) => void errors.push(line) }),
    onFinishedLater: ({ request }) => void finished.push(request.kind === 'withdrawal' ? request.reference : ''),
  });
  const one = fourEyes.resume();
  await fourEyes.resume();
  assert.deepEqual(finished, ['second']);
  gate.resolve();
  await one;
  assert.deepEqual(carriedOut, ['first', 'second']);
  assert.deepEqual(finished, ['second', 'first']);
  assert.deepEqual(errors, []);
});

const WITHDRAWAL = { kind: 'withdrawal', user_id: 'eve', amount_usdc_micro: '1', reference: 'r' } as const;

/** Operators by name, and a rule whose changes end as the test says. */
function fourEyesOf(t: TestContext) {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const operators = new Operators(database);
  const clock = new ManualClock(NOW_MS);
  const state = { outcome: null as Refusal | Error | null, carried: [] as string[], later: [] as string[] };
  const options = {
    approvals: new Approvals(database),
    operators,
    carryOut: async (request: ApprovalRequest): Promise<Refusal | null> => {
      state.carried.push(request.kind);
      if (state.outcome instanceof Error) throw state.outcome;
      return state.outcome;
    },
    clock,
    log: createLogger('silent'),
    onFinishedLater: ({ status }: ApprovalEntry) => void state.later.push(status),
  };
  const make = (name: string, roles: OperatorRole[], maker: Administrator = BOOTSTRAP): Administrator => {
    return { ...operators.create(name, roles, maker, clock.nowMs()).operator, kind: 'administrator' };
  };
  const fourEyes = new FourEyes(options);
  const ask = (who: Administrator, subject = 's', request: ApprovalRequest = WITHDRAWAL): ApprovalEntry => {
    const asked = fourEyes.ask(who, subject, request);
    assert.ok(asked !== null && 'approval' in asked, JSON.stringify(asked));
    return asked.approval;
  };
  return { fourEyes, operators, clock, state, make, ask, restarted: () => new FourEyes(options) };
}

/** The status of a decision, or the code of its refusal. */
function codeOf(decided: { approval: ApprovalEntry } | { refusal: Refusal }): string {
  return 'approval' in decided ? decided.approval.status : (decided.refusal.message ?? decided.refusal.row.code);
}

test('where no second operator could approve it, a change needs no approval', (t) => {
  const { fourEyes, make, operators } = fourEyesOf(t);
  assert.equal(fourEyes.ask(BOOTSTRAP, 's', WITHDRAWAL), null, 'alone');
  make('cat', ['catalogue']);
  assert.equal(fourEyes.ask(BOOTSTRAP, 's', WITHDRAWAL), null, 'the other has another role');
  const ada = make('ada', ['treasury']);
  assert.notEqual(fourEyes.ask(BOOTSTRAP, 's', WITHDRAWAL), null);
  assert.notEqual(fourEyes.ask(ada, 't', WITHDRAWAL), null, 'the bootstrap superuser is a second');
  operators.revoke(operators.find(ada.operatorId)!, NOW_MS);
  assert.equal(fourEyes.ask(BOOTSTRAP, 'u', WITHDRAWAL), null, 'one who was revoked is none');
});

test('no operator approves its own request or one of its branch (FOUREYES-1)', async (t) => {
  const { fourEyes, make, ask, state } = fourEyesOf(t);
  const ada = make('ada', ['superuser']);
  const child = make('ada-2', ['superuser'], ada);
  const bob = make('bob', ['treasury']);
  const cat = make('cat', ['catalogue']);
  const { id } = ask(child);
  for (const same of [ada, child]) assert.equal(codeOf(await fourEyes.approve(id, same)), 'SECOND_OPERATOR_REQUIRED');
  assert.equal(codeOf(await fourEyes.approve(id, cat)), 'INSUFFICIENT_ROLE');
  assert.equal(codeOf(await fourEyes.approve('unknown', bob)), 'approval not found');
  assert.deepEqual(state.carried, []);
  assert.equal(codeOf(await fourEyes.approve(id, bob)), 'carried_out');
  assert.equal(codeOf(await fourEyes.approve(id, BOOTSTRAP)), 'carried_out', 'the answer of the first time');
  assert.deepEqual(state.carried, ['withdrawal'], 'once');
  assert.equal(codeOf(fourEyes.reject(id, bob)), 'the request is carried_out');
});

test('no operator approves a request older than itself (FOUREYES-1)', async (t) => {
  const { fourEyes, make, ask, state, clock } = fourEyesOf(t);
  const ada = make('ada', ['treasury']);
  const { id } = ask(BOOTSTRAP);
  clock.advance(1);
  const late = make('late', ['treasury', 'superuser']);
  assert.equal(codeOf(await fourEyes.approve(id, late)), 'SECOND_OPERATOR_REQUIRED');
  assert.deepEqual(state.carried, []);
  assert.equal(codeOf(await fourEyes.approve(id, ada)), 'carried_out');
});

test('a request about the same subject is the same one, or a conflict while that one is open', async (t) => {
  const { fourEyes, make, ask } = fourEyesOf(t);
  const [ada, bob] = [make('ada', ['treasury']), make('bob', ['treasury'])];
  const first = ask(ada);
  assert.equal(ask(bob).id, first.id);
  const other = { ...WITHDRAWAL, amount_usdc_micro: '2' };
  const asked = fourEyes.ask(ada, 's', other);
  assert.ok(asked !== null && 'refusal' in asked);
  assert.equal(asked.refusal.message, 'another request about this waits for approval');
  assert.notEqual(ask(ada, 'another').id, first.id);
  assert.equal(codeOf(fourEyes.reject(first.id, ada)), 'rejected', 'its own operator takes it back');
  assert.equal(codeOf(fourEyes.reject(first.id, bob)), 'rejected');
  assert.equal(codeOf(await fourEyes.approve(first.id, bob)), 'the request is rejected');
  assert.notEqual(ask(ada, 's', other).id, first.id);
});

test('a request of a revoked operator is void', async (t) => {
  const { fourEyes, operators, make, ask } = fourEyesOf(t);
  const [ada, bob] = [make('ada', ['treasury']), make('bob', ['treasury'])];
  const first = ask(ada);
  operators.revoke(operators.find(ada.operatorId)!, NOW_MS);
  assert.equal(fourEyes.statusOf(first), 'void');
  assert.equal(codeOf(await fourEyes.approve(first.id, bob)), 'the request is void');
  assert.notEqual(ask(bob).id, first.id, 'it stands in the way of no other');
});

test('an approved change is repeated until its end is known, a second apart, and ends once (FOUREYES-2)', async (t) => {
  const { fourEyes, make, ask, state, clock, restarted } = fourEyesOf(t);
  const bob = make('bob', ['treasury']);
  const { id } = ask(BOOTSTRAP);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  for (const key of ['OUTCOME_UNKNOWN', 'ENGINE_BUSY', 'INTERNAL_ERROR'] as const) {
    state.outcome = { row: ERRORS[key] };
    const { length } = state.carried;
    assert.equal(codeOf(await fourEyes.approve(id, bob)), ERRORS[key].code);
    assert.equal(state.carried.length, length + 1);
  }
  fourEyes.tick();
  await settle();
  assert.equal(state.carried.length, 4, 'the first try of the repeats is made at once');
  for (const [ms, tries] of [
    [999, 4],
    [1, 5],
    [500, 5],
  ]) {
    clock.advance(ms);
    fourEyes.tick();
    await settle();
    assert.equal(state.carried.length, tries, `${ms} ms later`);
  }
  state.outcome = new Error('no disk');
  await assert.rejects(fourEyes.approve(id, bob), /no disk/);
  assert.deepEqual(state.later, []);
  state.outcome = { row: ERRORS.INSUFFICIENT_BALANCE, message: 'too little' };
  const next = restarted();
  await next.resume();
  assert.deepEqual(state.later, ['failed']);
  const ended = await next.approve(id, bob);
  assert.ok('approval' in ended);
  assert.deepEqual(ended.approval.failure, { code: 'INSUFFICIENT_BALANCE', error: 'too little' });
  const { length } = state.carried;
  await next.resume();
  next.tick();
  assert.equal(state.carried.length, length);
});
