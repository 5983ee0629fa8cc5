/** Approved changes that are taken up again after a loss (RULES.md 9.17). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { BOOTSTRAP } from '../../../../gateway/access/principal.ts';
import { FourEyes } from '../../../../gateway/operator/approvals.ts';
import { createLogger } from '../../../../gateway/process/log.ts';
import { Approvals } from '../../../../gateway/store/approvals.ts';
import { openControlDatabase } from '../../../../gateway/store/database.ts';
import { Operators } from '../../../../gateway/store/operators.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const NOW_MS = 1_790_000_000_000;

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
