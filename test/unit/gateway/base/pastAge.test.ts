import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PastAge } from '../../../../gateway/base/pastAge.ts';
import { Progress } from '../../../../shared/wire/progress.ts';

const SHARDS = 2;

function rig() {
  const progress = new Progress(Progress.create(SHARDS));
  const shown = { sequences: [5, 7], revision: 3 };
  const revisions = {
    get current(): number {
      return shown.revision;
    },
  };
  const age = new PastAge(progress, { shownSequence: (shard) => shown.sequences[shard]! }, { revisions });
  return { progress, shown, age };
}

test('PASTAGE-1: read.db is as new as the views were when the projector has passed what they showed', () => {
  const { progress, shown, age } = rig();
  age.see(1000);
  assert.equal(age.asOfMs, null, 'the projector has not begun');
  progress.setProjected(0, 9);
  progress.setProjected(1, 7);
  assert.equal(age.asOfMs, null, 'changes of the catalogue are missing');
  progress.setCatalogRevision(3);
  assert.equal(age.asOfMs, 1000);

  shown.sequences = [9, 8];
  age.see(2000);
  assert.equal(age.asOfMs, 1000);
  shown.sequences = [20, 20];
  age.see(3000);
  progress.setProjected(1, 8);
  assert.equal(age.asOfMs, 2000, 'the moments between are left out');
  age.see(4000);
  assert.equal(age.asOfMs, 2000);
  progress.setProjected(0, 20);
  progress.setProjected(1, 20);
  assert.equal(age.asOfMs, 4000);
});

test('PASTAGE-1: nothing is known of a read.db that is made anew before it has what the one before had', () => {
  const { progress, shown, age } = rig();
  progress.setProjected(0, 5);
  progress.setProjected(1, 7);
  progress.setCatalogRevision(3);
  age.see(1000);
  assert.equal(age.asOfMs, 1000);
  progress.setBeingMade(true);
  assert.equal(age.asOfMs, null);
  progress.setProjected(0, 0);
  progress.setBeingMade(false);
  assert.equal(age.asOfMs, null);
  shown.sequences = [6, 7];
  age.see(2000);
  progress.setProjected(0, 5);
  assert.equal(age.asOfMs, 1000);
  progress.setProjected(0, 6);
  assert.equal(age.asOfMs, 2000);
});
