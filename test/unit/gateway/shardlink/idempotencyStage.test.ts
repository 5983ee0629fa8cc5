/** The idempotency stage (RULES.md 6.7): the answer to a repeated key, and the stored answer. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ok, refuse } from '../../../../gateway/http/respond.ts';
import { UNRESOLVED } from '../../../../gateway/shardlink/answerDb.ts';
import { IdempotencyStage } from '../../../../gateway/shardlink/idempotencyStage.ts';
import { KeysInFlight } from '../../../../gateway/shardlink/keysInFlight.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';
import { EXT_ROUTE } from '../../../../shared/wire/commands.ts';
import { TestCall } from '../../../support/calls.ts';
import { ManualClock } from '../../../support/manualClock.ts';
import { MemoryAnswers } from '../../../support/memoryAnswers.ts';

const KEY = '0190a6f0-7b1c-7abc-8def-0123456789ab';
const START_MS = 1_790_000_000_000;
const ORDER = { path: '/v1/orders/0xaa', method: 'PATCH', body: { order: 1 } };

class Desk {
  readonly answers = new MemoryAnswers();
  readonly clock = new ManualClock(START_MS);
  readonly inFlight = new KeysInFlight();
  readonly stage = new IdempotencyStage(this.answers, this.clock, this.inFlight);

  /** A request with the key, and the stage's decision. */
  ask(changes: Partial<ConstructorParameters<typeof TestCall>[0]> = {}, route: number = EXT_ROUTE.AMEND) {
    const asked = new TestCall({ ...ORDER, idempotencyKey: KEY, ...changes });
    return { asked, held: this.stage.tryHold(asked.call, route) };
  }

  /** The same, carried out and answered. */
  carryOut(changes: Partial<ConstructorParameters<typeof TestCall>[0]> = {}): TestCall {
    const { asked, held } = this.ask(changes);
    assert.equal(held, 'held');
    asked.call.dispatched = true;
    ok(asked.call, { n: 1 });
    this.stage.release(asked.call);
    return asked;
  }
}

test('a repeat is answered with the bytes of the first answer, and says so', () => {
  const desk = new Desk();
  const first = desk.carryOut();
  const { asked, held } = desk.ask({ idempotencyKey: KEY.toUpperCase() });
  assert.equal(held, 'replayed');
  assert.deepEqual([asked.text, asked.status], [first.text, first.status]);
  assert.equal(asked.headers.get('Idempotency-Replayed'), 'true');
  assert.equal(first.headers.get('Idempotency-Replayed'), undefined);
});

test('a key is bound to the method, the path, the query and the body that it came with', () => {
  const others = [
    { path: '/v1/orders/0xbb' },
    { method: 'PUT' },
    { query: '' },
    { query: 'a=1' },
    { body: { order: 2 } },
    { body: undefined },
  ];
  for (const other of others) {
    const desk = new Desk();
    const { asked } = desk.ask();
    assert.equal(desk.ask(other).held, ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH, JSON.stringify(other));
    ok(asked.call, { n: 1 });
    desk.stage.release(asked.call);
    assert.equal(desk.ask(other).held, ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH, JSON.stringify(other));
  }
});

test('the same text is another key for another account, and the same key on another route', () => {
  const desk = new Desk();
  desk.carryOut();
  assert.equal(desk.ask({ account: 2 }).held, 'held');
  const elsewhere = { path: '/v1/orders/batch', method: 'POST' };
  assert.equal(desk.ask(elsewhere, EXT_ROUTE.BATCH).held, ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH);
  const inFlight = '0190a6f0-7b1c-7abc-8def-000000000000';
  assert.equal(desk.ask({ idempotencyKey: inFlight }).held, 'held');
  const second = desk.ask({ ...elsewhere, idempotencyKey: inFlight }, EXT_ROUTE.BATCH);
  assert.equal(second.held, ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH);
});

test('a repeat is refused while the first is in flight, and let in when that is over without an answer', () => {
  const desk = new Desk();
  const { asked } = desk.ask();
  assert.equal(desk.ask().held, ERRORS.IDEMPOTENCY_KEY_IN_PROGRESS);
  desk.stage.release(asked.call);
  assert.equal(desk.ask().held, 'held');
});

test('the oldest request with a key in flight is known', () => {
  const desk = new Desk();
  const nowMs = () => desk.clock.nowMs();
  assert.equal(desk.inFlight.oldestMs(nowMs()), START_MS);
  const { asked } = desk.ask();
  desk.clock.advance(50);
  desk.ask({ account: 2 });
  assert.equal(desk.inFlight.oldestMs(nowMs()), START_MS);
  desk.stage.release(asked.call);
  assert.equal(desk.inFlight.oldestMs(nowMs() + 1), START_MS + 50);
});

test('a key that is no UUID is refused, and none is let in while answers cannot be stored', () => {
  const desk = new Desk();
  for (const idempotencyKey of ['', 'x', KEY.slice(1), `${KEY}0`]) {
    assert.equal(desk.ask({ idempotencyKey }).held, ERRORS.IDEMPOTENCY_KEY_MALFORMED, idempotencyKey);
  }
  desk.answers.isOpen = false;
  assert.equal(desk.ask().held, ERRORS.ENGINE_BUSY);
});

/** A desk on which an earlier request with the key may have been carried out: a crash took its answer. */
function deskAfterCrash(): Desk {
  const desk = new Desk();
  const { asked } = desk.ask();
  asked.call.idempotencyHold?.leaveUnresolved();
  ok(asked.call, { n: 1 });
  desk.stage.release(asked.call);
  return desk;
}

test('a refusal before the shard was asked is not kept for an order that may stand (HOLD-4)', () => {
  const desk = deskAfterCrash();
  const timedOut = desk.ask();
  assert.equal(timedOut.held, 'held');
  refuse(timedOut.asked.call, { row: ERRORS.TRADING_TIMEOUT_ACTIVE });
  assert.equal(timedOut.asked.status, 423);
  desk.stage.release(timedOut.asked.call);
  const key = Buffer.from(KEY.replaceAll('-', ''), 'hex');
  assert.equal(desk.answers.find({ account: 1, key, fingerprint: new Uint8Array(16) })?.status, UNRESOLVED);
  const found = desk.carryOut();
  assert.equal(desk.ask().asked.text, found.text, 'what the shard says is kept');
});

test('the same refusal of a first request is its answer', () => {
  const desk = new Desk();
  const { asked } = desk.ask();
  refuse(asked.call, { row: ERRORS.TRADING_TIMEOUT_ACTIVE });
  desk.stage.release(asked.call);
  const repeat = desk.ask();
  assert.deepEqual([repeat.held, repeat.asked.status], ['replayed', 423]);
});

test('an answer is not sent before it is durable, and not at all when it could not be stored (HOLD-3)', () => {
  const desk = new Desk();
  desk.answers.isPrompt = false;
  for (const isKept of [true, false]) {
    const { asked } = desk.ask({ account: isKept ? 1 : 2 });
    ok(asked.call, { n: 1 });
    assert.equal(asked.text, '');
    desk.answers.waiting.pop()!.whenKept(isKept);
    assert.deepEqual([asked.status, asked.json], isKept ? [200, { n: 1 }] : [503, unknownBody]);
  }
});

const unknownBody = { error: ERRORS.OUTCOME_UNKNOWN.message, code: ERRORS.OUTCOME_UNKNOWN.code };

describe('while the disk is nearly full', () => {
  const asked = () => new TestCall({ ...ORDER, idempotencyKey: KEY }).call;
  const reply = { status: 200, body: '{}' };
  const { BATCH_CANCEL, PLACE } = EXT_ROUTE;

  test('a cancel with a key is carried out and not kept, and a kept answer is still replayed', () => {
    const answers = new MemoryAnswers();
    let isLow = false;
    const stage = new IdempotencyStage(answers, new ManualClock(START_MS), undefined, () => isLow);
    const early = asked();
    assert.equal(stage.tryHold(early, BATCH_CANCEL), 'held');
    early.dispatched = true;
    isLow = true;
    answers.isOpen = false;
    assert.equal(early.idempotencyHold!.toStore(reply, 'always'), null);
    assert.deepEqual(stage.tryHold(asked(), BATCH_CANCEL), ERRORS.IDEMPOTENCY_KEY_IN_PROGRESS);
    stage.release(early);
    const next = asked();
    assert.equal(stage.tryHold(next, BATCH_CANCEL), 'held');
    stage.release(next);
    assert.deepEqual(stage.tryHold(asked(), PLACE), ERRORS.ENGINE_BUSY);
  });

  test('the answer of a request that reached a handler is kept; one refused before is not', () => {
    const answers = new MemoryAnswers();
    const stage = new IdempotencyStage(answers, new ManualClock(START_MS), undefined, () => true);
    const call = asked();
    assert.equal(stage.tryHold(call, PLACE), 'held');
    assert.equal(call.idempotencyHold!.toStore(reply, 'always'), null);
    call.dispatched = true;
    assert.equal(call.idempotencyHold!.toStore(reply, 'always'), reply);
  });

  test('a cancel whose answer the full disk did not take is answered, and an order is not', () => {
    for (const [route, isAnswered] of [
      [BATCH_CANCEL, true],
      [PLACE, false],
    ] as const) {
      const answers = new MemoryAnswers();
      answers.isPrompt = false;
      const stage = new IdempotencyStage(answers, new ManualClock(START_MS));
      const call = asked();
      assert.equal(stage.tryHold(call, route), 'held');
      call.dispatched = true;
      const told: boolean[] = [];
      call.idempotencyHold!.store(reply, (isStored) => told.push(isStored));
      answers.isDiskFull = true;
      answers.waiting[0].whenKept(false);
      assert.deepEqual(told, [isAnswered]);
    }
  });
});
