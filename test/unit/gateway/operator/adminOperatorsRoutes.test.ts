import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Operators } from '../../../../gateway/access/operators.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { BOOTSTRAP } from '../../../../gateway/base/principal.ts';
import { adminOperatorRoutes } from '../../../../gateway/operator/adminOperatorsRoutes.ts';
import { TestCall } from '../../../support/calls.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const MOST = 1000;
const NOW_MS = 1_790_000_000_000;

test('the thousandth operator is created; the next one is refused and leaves no trace', async (t) => {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  const insert = database.prepare(`INSERT INTO operators VALUES (?, ?, '["viewer"]', zeroblob(32), ?, 'x', 0, NULL)`);
  database.transaction(() => {
    for (let n = 1; n < MOST; n++) insert.run(`opr_${n}`, `operator-${n}`, `opr_${n}`);
  })();
  const operators = new Operators(database);
  const approvals = { lastRequestedMs: () => 0 };
  const routes = adminOperatorRoutes({ operators, approvals, clock: new ManualClock(NOW_MS) });
  const create = routes.find(({ method }) => method === 'POST')!;
  const made = [MOST, MOST + 1].map((n) => {
    const asked = new TestCall({
      method: 'POST',
      path: create.path,
      body: { name: `operator-${n}`, roles: ['viewer'] },
    });
    asked.call.principal = BOOTSTRAP;
    void create.handler(asked.call);
    return asked;
  });
  assert.deepEqual(
    made.map(({ status }) => status),
    [201, 409],
  );
  assert.equal(made[1].json.code, 'CONFLICT');
  assert.equal(operators.all().length, MOST);
  assert.equal(new Operators(database).all().length, MOST);
});
