/** A leader whose disk is nearly full looks for a standby with room (RULES.md 18.19). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoomWatch } from '../../../../gateway/base/roomWatch.ts';
import type { HandOverAnswer } from '../../../../shared/wire/clusterStatus.ts';

function rig() {
  const said: string[] = [];
  const disk = { isLow: false };
  const role = { isLeading: false, filesProblem: null as string | null };
  let answer: HandOverAnswer = { id: 1, refused: 'no standby has room on its disk' };
  const watch = new RoomWatch({
    disk,
    member: {
      role,
      noteRoom: (hasRoom) => said.push(hasRoom ? 'room' : 'no room'),
      askHandOver: async () => {
        said.push('asks');
        return answer;
      },
    },
    log: { warn: ({ refusal }: { refusal: string }) => void said.push(refusal) } as never,
  });
  const setAnswer = (next: HandOverAnswer): void => {
    answer = next;
  };
  return { watch, disk, role, said, setAnswer };
}

test('others are notified when a disk is nearly full or has space again; a standby hands over nothing', async () => {
  const { watch, disk, said } = rig();
  await watch.look();
  disk.isLow = true;
  for (let looks = 0; looks < 20; looks++) await watch.look();
  disk.isLow = false;
  await watch.look();
  assert.deepEqual(said, ['no room', 'room']);
});

test('a leader whose files do not agree with the log asks as well, and says why it does', async () => {
  const { watch, role, said } = rig();
  role.filesProblem = 'the journal of shard 0 ends early';
  await watch.look();
  assert.deepEqual(said, [], 'a standby asks nobody');
  role.isLeading = true;
  for (let looks = 0; looks < 12; looks++) await watch.look();
  role.filesProblem = null;
  for (let looks = 0; looks < 12; looks++) await watch.look();
  assert.deepEqual(said, ['asks', 'no standby has room on its disk', 'asks']);
});

test('a leader asks at once and then now and then, and says once why the lead stays', async () => {
  const { watch, disk, role, said, setAnswer } = rig();
  Object.assign(disk, { isLow: true });
  role.isLeading = true;
  for (let looks = 0; looks < 23; looks++) await watch.look();
  assert.deepEqual(said, ['no room', 'asks', 'no standby has room on its disk', 'asks', 'asks']);
  setAnswer({ id: 2, to: 'b', isDone: false });
  for (let looks = 0; looks < 11; looks++) await watch.look();
  assert.deepEqual(said.slice(5), ['asks']);
  disk.isLow = false;
  await watch.look();
  assert.deepEqual(said.slice(6), ['room']);
});
