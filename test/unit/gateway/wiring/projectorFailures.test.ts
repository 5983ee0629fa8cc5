/** When a read.db that the projector cannot follow is made again (RULES.md 10.21). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProjectorFailures } from '../../../../gateway/wiring/projectorFailures.ts';
import { AssertionError } from '../../../../shared/base/assert.ts';
import { Progress } from '../../../../shared/wire/progress.ts';

function failuresAt(projected: number) {
  const progress = new Progress(Progress.create(1));
  progress.setProjected(0, projected);
  return { progress, failures: new ProjectorFailures(progress) };
}

test('a read.db is blamed for the third assertion that fails at the same record, once', () => {
  const { failures } = failuresAt(7);
  const fails = (): boolean => {
    failures.note(new AssertionError('ORDERROWS-3'));
    return failures.callForAnew();
  };
  assert.equal(failures.callForAnew(), false);
  assert.deepEqual([fails(), fails(), fails()], [false, false, true]);
  for (let run = 0; run < 5; run++) assert.equal(fails(), false, 'the new file fails as well: a bug');
});

test('other errors, and failures at another record, blame nothing', () => {
  const { failures, progress } = failuresAt(7);
  for (let run = 0; run < 5; run++) {
    failures.note(new Error('database or disk is full'));
    failures.note(null);
    assert.equal(failures.callForAnew(), false);
  }
  for (let projected = 8; projected < 14; projected++) {
    progress.setProjected(0, projected);
    failures.note(new AssertionError('ORDERROWS-3'));
    assert.equal(failures.callForAnew(), false);
  }
});
