/** The rehearsals of the projector's thread (PROJECTORMAIN-1, RULES.md 10.25). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { differences } from '../../../../engine/projector/contents.ts';
import {
  type ProjectorMessage,
  type ProjectorOptions,
  type ProjectorPort,
  type ProjectorThreadOptions,
  REHEARSED,
} from '../../../../shared/wire/threads.ts';
import { TEST_SECRET } from '../../../support/journalKey.ts';
import { ProjectionRig } from '../../../support/projectionRig.ts';

const WAIT_MS = 60_000;

function rigWith(seed: number, commands: number): ProjectionRig {
  const rig = new ProjectionRig({ seed });
  after(() => rig.close());
  rig.trade(commands);
  return rig;
}

function optionsOf(rig: ProjectionRig, port: MessagePort): ProjectorOptions & ProjectorPort {
  const { journalPaths, readDbPath, progressMemory: progress } = rig;
  return { journalPaths, journalKey: TEST_SECRET, readDbPath, progress, catalogPort: port, makesAnew: false };
}

/** A thread that rehearses with these before it follows the journals of `rig`. */
function startThread(rig: ProjectionRig, rehearsals: readonly Partial<ProjectorOptions & ProjectorPort>[]): Worker {
  const ports = [rig, ...rehearsals].map(() => new MessageChannel());
  after(() => {
    for (const { port1 } of ports) port1.close();
  });
  const [own, ...others] = ports.map(({ port2 }) => port2);
  const workerData: ProjectorThreadOptions = {
    ...optionsOf(rig, own!),
    rehearsals: rehearsals.map((changes, index) => ({ ...optionsOf(rig, others[index]!), ...changes })),
  };
  const worker = new Worker(new URL('../../../../engine/projector/main.ts', import.meta.url), {
    workerData,
    transferList: [own!, ...others],
  });
  after(() => worker.terminate());
  return worker;
}

test('the projector follows the exchanges of a rehearsal to their ends, and then its own', async () => {
  const rig = rigWith(3, 40);
  const acts = [rigWith(4, 30), rigWith(5, 30)];
  const worker = startThread(
    rig,
    acts.map(({ journalPaths, readDbPath, progressMemory: progress }) => ({ journalPaths, readDbPath, progress })),
  );
  const message = once(worker, 'message') as Promise<[ProjectorMessage]>;
  worker.postMessage(REHEARSED);
  const [first, second] = acts as [ProjectionRig, ProjectionRig];
  assert.ok(await first.progress.awaitProjected(0, first.journals[0]!.lastSequence, WAIT_MS));
  assert.equal(rig.progress.generation(), 0, 'nothing of its own is followed before');
  second.trade(10);
  worker.postMessage(REHEARSED);
  second.progress.ringProjector();
  assert.deepEqual(await message, [{ rehearsed: [] }]);
  assert.ok(await rig.progress.awaitProjected(0, rig.journals[0]!.lastSequence, WAIT_MS));
  for (const each of [rig, ...acts]) assert.deepEqual(differences(each.undisturbed(), each.contents()), []);
});

test('a rehearsal that fails costs the projector nothing', async () => {
  const rig = rigWith(6, 40);
  const worker = startThread(rig, [{ readDbPath: '/proc/no-such-directory/read.db' }]);
  const [message] = (await once(worker, 'message')) as [ProjectorMessage];
  assert.ok('rehearsed' in message);
  assert.match(message.rehearsed.join(), /directory does not exist/);
  assert.ok(await rig.progress.awaitProjected(0, rig.journals[0]!.lastSequence, WAIT_MS));
  worker.postMessage(REHEARSED);
  rig.trade(10);
  assert.ok(await rig.progress.awaitProjected(0, rig.journals[0]!.lastSequence, WAIT_MS));
  assert.deepEqual(differences(rig.undisturbed(), rig.contents()), []);
});
