/** In a cluster an answer to a change waits until a takeover by another member would keep the change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ok, okBytes, refuse } from '../../../../gateway/http/respond.ts';
import { IdempotencyStage } from '../../../../gateway/shardlink/idempotencyStage.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { EXT_ROUTE } from '../../../../shared/wire/commands.ts';
import { TestCall } from '../../../support/calls.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { MemoryAnswers } from '../../../support/memoryAnswers.ts';

class Changes {
  sequence = 7;
  heldSequence = 7;
  readonly #waiting: PromiseWithResolvers<void>[] = [];

  get isHeld(): boolean {
    return this.heldSequence >= this.sequence;
  }

  held(): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  settle(isHeld: boolean): void {
    this.heldSequence = isHeld ? this.sequence : this.heldSequence;
    for (const { resolve, reject } of this.#waiting) isHeld ? resolve() : reject(new Error('lost'));
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function called(method = 'POST') {
  const changes = new Changes();
  return { changes, call: new TestCall({ method, path: '/v1/keys', changes }) };
}

test('an answer to a change is sent when the log holds the change', async () => {
  const { call, changes } = called();
  changes.sequence++;
  ok(call.call, { id: 'made' }, 201);
  await turn();
  assert.equal(call.text, '');
  changes.settle(true);
  await call.answered;
  assert.deepEqual([call.status, call.text], [201, '{"id":"made"}']);
});

test('bytes wait for the same, and are sent as they were', async () => {
  const { call, changes } = called();
  changes.sequence++;
  const bytes = Buffer.from('{"id":"made"}');
  okBytes(call.call, bytes);
  bytes.fill(' ');
  await turn();
  assert.equal(call.text, '');
  changes.settle(true);
  await call.answered;
  assert.deepEqual([call.status, call.text], [200, '{"id":"made"}']);
});

test('when the log will not hold the change, the answer is that the outcome is unknown', async () => {
  const { call, changes } = called();
  changes.sequence++;
  ok(call.call, { id: 'made' }, 201);
  changes.settle(false);
  await call.answered;
  assert.deepEqual([call.status, call.json.code], [ERRORS.OUTCOME_UNKNOWN.status, 'OUTCOME_UNKNOWN']);
});

test('its key stays bound to it then: a repeat has to find out what became of it (RULES.md 6.7)', async () => {
  const answers = new MemoryAnswers();
  const stage = new IdempotencyStage(answers, new ManualClock(1));
  const changes = new Changes();
  const keyed = (): TestCall => {
    const idempotencyKey = '0190a6f0-7b1c-7abc-8def-0123456789ab';
    const asked = new TestCall({ method: 'POST', path: '/v1/markets/m/split', changes, idempotencyKey });
    assert.equal(stage.tryHold(asked.call, EXT_ROUTE.CONVERT), 'held');
    return asked;
  };
  const first = keyed();
  assert.equal(first.call.idempotencyHold!.mayHaveRun, false);
  first.call.dispatched = true;
  changes.sequence++;
  ok(first.call, { message: 'split' });
  changes.settle(false);
  await first.answered;
  assert.equal(first.json.code, 'OUTCOME_UNKNOWN');
  stage.release(first.call);
  assert.equal(keyed().call.idempotencyHold!.mayHaveRun, true);
});

test('a call that changed nothing, a read and a refusal wait for nothing', async () => {
  const unheld = (changes: Changes): void => {
    changes.sequence++;
  };
  const earlier = called();
  earlier.changes.heldSequence = 3;
  ok(earlier.call.call, { is: 'another change' });
  await earlier.call.answered;
  const read = called('GET');
  unheld(read.changes);
  ok(read.call.call, {});
  await read.call.answered;
  const refused = called();
  unheld(refused.changes);
  refuse(refused.call.call, { row: ERRORS.ENGINE_BUSY });
  await refused.call.answered;
  assert.deepEqual([earlier.call.status, read.call.status, refused.call.status], [200, 200, 503]);
});
