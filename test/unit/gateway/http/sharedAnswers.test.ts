import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Asker, Askers } from '../../../../gateway/base/askers.ts';
import { SharedAnswers } from '../../../../gateway/http/sharedAnswers.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const TTL_MS = 10_000;
const ASKER: Asker = { lane: '192.0.2.1', isGone: false };

function later(): string {
  return 'later';
}

/** A computation that a test ends by hand, and counts. */
class Question {
  computed = 0;
  #end: ((text: string | null) => void) | null = null;
  #fail: ((error: Error) => void) | null = null;

  readonly compute = (): Promise<string | null> => {
    this.computed++;
    return new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
  };

  answer(text: string | null): void {
    this.#end!(text);
  }

  fail(): void {
    this.#fail!(new Error('no database'));
  }
}

test('RULES.md 13.1: a cold cache under 1,000 concurrent requests computes once', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  const question = new Question();
  const waiting = Array.from({ length: 1000 }, () => answers.get(ASKER, 'pulse', TTL_MS, question.compute));
  question.answer('{"a":1}');
  assert.deepEqual(new Set((await Promise.all(waiting)).map(String)), new Set(['{"a":1}']));
  assert.equal(question.computed, 1);
  assert.equal(
    String(answers.get(ASKER, 'pulse', TTL_MS, question.compute)),
    '{"a":1}',
    'a kept answer is there at once',
  );
  assert.equal(question.computed, 1);
});

test('an answer is kept for its time to live, counted from the start of its computation', async () => {
  const clock = new ManualClock(1_790_000_000_000);
  const answers = new SharedAnswers(clock);
  const question = new Question();
  const first = answers.get(ASKER, 'pulse', TTL_MS, question.compute);
  clock.advance(4000);
  question.answer('first');
  assert.equal(String(await first), 'first');
  clock.advance(TTL_MS - 4001);
  assert.equal(String(answers.get(ASKER, 'pulse', TTL_MS, question.compute)), 'first');
  clock.advance(1);
  const second = answers.get(ASKER, 'pulse', TTL_MS, question.compute);
  question.answer('second');
  assert.equal(String(await second), 'second');
  assert.equal(question.computed, 2);
});

test('after the clock was set back an answer is computed anew, once, and kept', async () => {
  const clock = new ManualClock(1_790_000_000_000);
  const answers = new SharedAnswers(clock);
  const question = new Question();
  for (const [stepMs, text] of [
    [0, 'first'],
    [-3_600_000, 'second'],
    [-1, 'third'],
  ] as const) {
    clock.advance(stepMs);
    const answer = answers.get(ASKER, 'pulse', TTL_MS, question.compute);
    question.answer(text);
    assert.equal(String(await answer), text);
    assert.equal(String(answers.get(ASKER, 'pulse', TTL_MS, question.compute)), text);
  }
  assert.equal(question.computed, 3);
});

test('a computation that fails is reported to all who wait for it and not kept', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  const question = new Question();
  const waiting = [1, 2, 3].map(() => answers.get(ASKER, 'pulse', TTL_MS, question.compute));
  const refused = Promise.all(waiting.map((answer) => assert.rejects(async () => answer, /no database/)));
  question.fail();
  await refused;
  const again = answers.get(ASKER, 'pulse', TTL_MS, question.compute);
  question.answer('now');
  assert.equal(String(await again), 'now');
  assert.equal(question.computed, 2);
});

test('an exception before the first promise is a failure like any other', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  const broken = (): string => {
    throw new Error('at once');
  };
  await assert.rejects(async () => answers.get(ASKER, 'pulse', TTL_MS, broken), /at once/);
  assert.equal(String(await answers.get(ASKER, 'pulse', TTL_MS, () => 'now')), 'now');
});

test('no answer (null) is not kept', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  assert.equal(await answers.get(ASKER, 'pulse', TTL_MS, () => null), null);
  assert.equal(String(await answers.get(ASKER, 'pulse', TTL_MS, () => 'now')), 'now');
  assert.equal(String(answers.get(ASKER, 'pulse', TTL_MS, later)), 'now');
});

test('an answer of an earlier state is not given where there is one of the present state', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  assert.equal(String(await answers.get(ASKER, 'list', TTL_MS, () => 'of 1', '1')), 'of 1');
  assert.equal(String(answers.get(ASKER, 'list', TTL_MS, later, '1')), 'of 1');
  assert.equal(String(await answers.get(ASKER, 'list', TTL_MS, () => 'of 2', '2')), 'of 2');
  assert.equal(String(answers.get(ASKER, 'list', TTL_MS, later, '2')), 'of 2');
});

test('RULES.md 12.9: where the present state has no answer the last one is given, for its time to live', async () => {
  const clock = new ManualClock(1_790_000_000_000);
  const answers = new SharedAnswers(clock);
  await answers.get(ASKER, 'list', TTL_MS, () => 'of 1', '1');
  clock.advance(TTL_MS - 1);
  assert.equal(String(await answers.get(ASKER, 'list', TTL_MS, () => null, '2')), 'of 1');
  assert.equal(await answers.get(ASKER, 'other', TTL_MS, () => null, '2'), null, 'of another question there is none');
  clock.advance(1);
  assert.equal(
    await answers.get(ASKER, 'list', TTL_MS, () => null, '2'),
    null,
    'giving it again has made it no younger',
  );
});

test('a failure is reported even if an earlier state has an answer', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  await answers.get(ASKER, 'list', TTL_MS, () => 'of 1', '1');
  const broken = (): string => {
    throw new Error('no database');
  };
  await assert.rejects(async () => answers.get(ASKER, 'list', TTL_MS, broken, '2'), /no database/);
});

test('a request after a change neither waits for a computation before it nor loses its answer to it', async () => {
  const clock = new ManualClock(1_790_000_000_000);
  const answers = new SharedAnswers(clock);
  const [before, after] = [new Question(), new Question()];
  const early = answers.get(ASKER, 'list', TTL_MS, before.compute, '1');
  clock.advance(1);
  const late = answers.get(ASKER, 'list', TTL_MS, after.compute, '2');
  after.answer('of 2');
  assert.equal(String(await late), 'of 2');
  before.answer('of 1');
  assert.equal(String(await early), 'of 1');
  assert.equal(String(answers.get(ASKER, 'list', TTL_MS, later, '2')), 'of 2');
});

test('whoever waits for an answer counts as one who asks for it, also for the parts of it', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  const question = new Question();
  let ofPart: Askers | null = null;
  const whole = (asker: Asker) =>
    answers.get(asker, 'whole', TTL_MS, async (askers) => {
      const part = answers.get(askers, 'part', TTL_MS, (all) => {
        ofPart = all;
        return question.compute();
      });
      return `of ${await part}`;
    });
  const [leaving, staying] = [
    { lane: 'a', isGone: false },
    { lane: 'b', isGone: false },
  ];
  const both = [whole(leaving), whole(staying)];
  assert.deepEqual([...ofPart!.lanes], ['a', 'b']);
  leaving.isGone = true;
  assert.equal(ofPart!.isGone, false, 'one of them still waits');
  staying.isGone = true;
  assert.equal(ofPart!.isGone, true);
  question.answer('1');
  assert.deepEqual((await Promise.all(both)).map(String), ['of 1', 'of 1']);
});

test('questions do not share answers', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  const [a, b] = [new Question(), new Question()];
  const both = Promise.all([answers.get(ASKER, 'a', TTL_MS, a.compute), answers.get(ASKER, 'b', TTL_MS, b.compute)]);
  b.answer('of b');
  a.answer('of a');
  assert.deepEqual((await both).map(String), ['of a', 'of b']);
});

test('the answers computed first make room for the one beyond the number that is kept', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000), { maxAnswers: 2, maxBytes: 1000 });
  for (const key of ['a', 'b', 'a', 'c']) await answers.get(ASKER, key, key === 'a' ? 0 : TTL_MS, () => `of ${key}`);
  assert.equal(String(answers.get(ASKER, 'a', TTL_MS, later)), 'of a', 'a was computed again after b');
  assert.equal(String(answers.get(ASKER, 'c', TTL_MS, later)), 'of c');
  assert.equal(String(await answers.get(ASKER, 'b', TTL_MS, later)), 'later');
});

test('the answers computed first make room for bytes; one beyond all bytes is served but not kept', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000), { maxAnswers: 100, maxBytes: 100 });
  await answers.get(ASKER, 'a', TTL_MS, () => '1'.repeat(48));
  await answers.get(ASKER, 'b', TTL_MS, () => '2'.repeat(48));
  assert.equal(answers.bytes, 100);
  const long = '3'.repeat(99);
  assert.equal(String(await answers.get(ASKER, 'c', TTL_MS, () => long)), long);
  assert.equal(answers.bytes, 100, 'an answer that does not fit displaces none');
  await answers.get(ASKER, 'c', TTL_MS, () => '3');
  assert.equal(answers.bytes, 53);
  assert.equal(String(answers.get(ASKER, 'b', TTL_MS, later)), '2'.repeat(48));
  assert.equal(String(await answers.get(ASKER, 'a', TTL_MS, later)), 'later');
});

test('a kept answer is the same bytes for all, as UTF-8', async () => {
  const answers = new SharedAnswers(new ManualClock(1_790_000_000_000));
  const first = await answers.get(ASKER, 'teams', TTL_MS, () => 'Île-de-France – Tōkyō');
  assert.equal(first, answers.get(ASKER, 'teams', TTL_MS, later));
  assert.deepEqual(first, Buffer.from('Île-de-France – Tōkyō', 'utf8'));
});

test('SHAREDANSWERS-4: a shared answer of a standby is as old as the data it was computed from', async () => {
  const clock = new ManualClock(1_790_000_000_000);
  const role = { pastAsOfMs: 100 as number | null };
  const answers = new SharedAnswers(clock, undefined, role);
  const limits: (number | null)[] = [];
  const call = { limitAsOf: (asOfMs: number | null) => void limits.push(asOfMs) };
  const date = (body: Buffer | null): void => answers.send(call as never, body, () => {});
  const question = new Question();
  const first = answers.get(ASKER, 'pulse', TTL_MS, question.compute);
  role.pastAsOfMs = 500;
  question.answer('first');
  date(await first);
  date(await answers.get(ASKER, 'pulse', TTL_MS, later));
  assert.deepEqual(limits.splice(0), [100, 100], 'from the start of its computation on, also when it is kept');

  const whole = await answers.get(ASKER, 'leaders', TTL_MS, async (_askers, uses) => {
    const part = await answers.get(ASKER, 'pulse', TTL_MS, later);
    uses(part!);
    return `of ${part}`;
  });
  date(whole);
  assert.deepEqual(limits.splice(0), [100], 'what rests on a kept answer is as old');

  role.pastAsOfMs = null;
  const atLeader = await answers.get(ASKER, 'pulse', TTL_MS, later);
  date(atLeader);
  assert.deepEqual([String(atLeader), limits.splice(0)], ['later', [null]], 'a leader gives no answer of a standby');
});
