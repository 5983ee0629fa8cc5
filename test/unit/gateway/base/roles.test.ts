import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covers, isRole } from '../../../../gateway/base/roles.ts';
import { isForOperators, rightsOf } from '../../../../gateway/http/spec.ts';
import { OPERATOR_ROLES } from '../../../../shared/api/operators.ts';

test('every role may read, a superuser may do everything, and no other role does the work of another', () => {
  const table = OPERATOR_ROLES.map((role) => OPERATOR_ROLES.filter((needed) => covers([role], needed)));
  assert.deepEqual(table, [
    ['viewer'],
    ['viewer', 'catalogue'],
    ['viewer', 'treasury'],
    ['viewer', 'catalogue', 'treasury', 'superuser'],
  ]);
});

test('several roles add up', () => {
  assert.deepEqual(
    OPERATOR_ROLES.filter((needed) => covers(['catalogue', 'treasury'], needed)),
    ['viewer', 'catalogue', 'treasury'],
  );
});

test('a route that names a role is for operators; names from the prototype of an object are no roles', () => {
  const spec = { method: 'GET', path: '/x', summary: '', limit: 'unlisted', answers: {} } as const;
  for (const access of OPERATOR_ROLES) {
    assert.equal(isForOperators({ ...spec, access }), true);
    assert.equal(rightsOf({ ...spec, access }).role, access);
  }
  assert.equal(isForOperators({ ...spec, access: 'read:account' }), false);
  assert.equal(isRole('constructor'), false);
});
