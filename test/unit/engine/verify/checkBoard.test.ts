/** Signature checks between threads: whichever thread answers or dies, a verdict belongs to its own question. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { CheckHelper, OfferedChecks } from '../../../../engine/verify/checkBoard.ts';
import { VERDICT } from '../../../../engine/verify/kernel/instance.ts';
import type { Verifier } from '../../../../engine/verify/verifier.ts';
import { HASH_BYTES } from '../../../../shared/base/hex.ts';
import {
  CHECK_BOARD,
  CHECK_QUEUE,
  CHECK_SLOT,
  CHECK_SLOTS,
  createCheckBoard,
  STATE,
  STATE_MASK,
} from '../../../../shared/wire/checkLayout.ts';
import { COMMAND } from '../../../../shared/wire/commands.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import type { VerifierOptions } from '../../../../shared/wire/threads.ts';
import { FakeBatches } from '../../../support/batchVerifier.ts';
import { eventually } from '../../../support/eventually.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const SEED = seedOr(1);
const { UNDECIDED } = VERDICT;

test(`a verdict is always that of its own question, whatever helpers, owners and threads do: seed ${SEED}`, () => {
  const random = new Random(SEED);
  const world = new BoardWorld(random);
  for (let step = 0; step < 60_000; step++) world.step();
  world.finish();
  assert.ok(world.ran > 5000, `${world.ran} commands ran`);
  assert.ok(world.helped > world.ran / 10, `${world.helped} of ${world.ran} were answered by helpers`);
  assert.ok(world.late > 100, `${world.late} verdicts came late`);
});

test('a check that a dead helper has taken is made by the owner, at once', () => {
  const { owner, helper } = rig();
  const questions = [question(1), question(2), question(3)];
  for (const [ordinal, one] of questions.entries()) owner.offer(ordinal, one.bytes, 0, false);
  owner.publish(0, questions.length);
  assert.ok(helper.tryClaim() >= 0, 'the last is taken and never answered');
  assert.ok(helper.help(), 'the one before it is answered');
  assert.deepEqual(
    [0, 1, 2].map((ordinal) => owner.isClaimed(ordinal)),
    [false, false, true],
  );
  assert.deepEqual(
    [0, 1, 2].map((ordinal) => owner.verdictOf(ordinal)),
    [UNDECIDED, verdictOf(questions[1]), UNDECIDED],
  );
});

test('what the owner claims no helper takes, and what a helper has the owner does not get', () => {
  const { owner, helper } = rig();
  for (let ordinal = 0; ordinal < 4; ordinal++) owner.offer(ordinal, question(ordinal).bytes, 0, false);
  owner.publish(0, 4);
  assert.ok(helper.tryClaim() >= 0, 'the last is taken');
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((ordinal) => owner.claim(ordinal)),
    [true, true, true, false, true],
    'what is not offered is the own',
  );
  assert.equal(owner.isClaimed(0), false, 'by no helper');
  assert.equal(helper.tryClaim(), -1, 'nothing is left');
  assert.equal(owner.claim(1), true, 'it has it already');
});

test('a helper makes a check that is offered before it sleeps, and sleeps only where it finds none', (t) => {
  const { owner, helper } = rig();
  const waits: unknown[] = [];
  t.mock.method(Atomics, 'wait', (_words: Int32Array, word: number, _bell: number, timeoutMs: number) => {
    waits.push([word, timeoutMs]);
    return 'timed-out';
  });
  owner.offer(0, question(1).bytes, 0, false);
  owner.publish(0, 1);
  helper.sleep(50);
  assert.deepEqual(waits, []);
  assert.equal(owner.verdictOf(0), verdictOf(question(1)));
  owner.withdraw(0);
  helper.sleep(50);
  assert.deepEqual(waits, [[CHECK_BOARD.bell, 50]]);
});

test('a late verdict is never taken for that of the next question in its slot, though that is being checked', () => {
  const { board, owner, helper } = rig();
  const slow: Verifier = {
    name: 'noble',
    verify: () => {
      owner.withdraw(0);
      owner.offer(CHECK_SLOTS, question(2).bytes, 0, false);
      owner.publish(CHECK_SLOTS, CHECK_SLOTS + 1);
      assert.ok(helper.tryClaim() >= 0, 'another helper is at the next question');
      return true;
    },
  };
  owner.offer(0, question(1).bytes, 0, false);
  owner.publish(0, 1);
  assert.ok(new CheckHelper(board, slow).help());
  assert.equal(owner.verdictOf(CHECK_SLOTS), UNDECIDED);
  assert.equal(owner.isClaimed(CHECK_SLOTS), true);
});

test('a helper that was held up after its claim does not answer the next question in its slot', () => {
  const { board, owner } = rig();
  let isUnderWay = false;
  const verifier: Verifier = {
    name: 'noble',
    verify: () => {
      if (isUnderWay) return true;
      isUnderWay = true;
      // In the meantime the owner has made both checks, and a later check in the slot of the other.
      for (const ordinal of [0, 1]) owner.withdraw(ordinal);
      for (const ordinal of [0, 1]) owner.offer(CHECK_SLOTS + ordinal, question(3).bytes, 0, false);
      owner.publish(CHECK_SLOTS, CHECK_SLOTS + 2);
      for (const ordinal of [0, 1]) assert.ok(owner.claim(CHECK_SLOTS + ordinal));
      return true;
    },
  };
  for (const ordinal of [0, 1, 2, 3]) owner.offer(ordinal, question(1).bytes, 0, true);
  owner.publish(0, 4);
  for (const ordinal of [3, 2]) owner.claim(ordinal);
  assert.ok(new CheckHelper(board, new FakeBatches(verifier)).help());
  assert.ok(isUnderWay);
  for (const ordinal of [0, 1]) assert.equal(owner.verdictOf(CHECK_SLOTS + ordinal), UNDECIDED, `${ordinal}`);
});

test('a new thread of a shard believes nothing that the one before it had offered', () => {
  const { board, owner, helper } = rig();
  owner.offer(0, question(2).bytes, 0, false);
  owner.publish(0, 1);
  const taken = helper.tryClaim();
  const next = new OfferedChecks(board, 0);
  assert.equal(helper.tryClaim(), -1, 'nothing is offered any more');
  next.offer(0, question(1).bytes, 0, false);
  next.publish(0, 1);
  helper.answer(taken);
  assert.equal(next.verdictOf(0), UNDECIDED);
});

test('a helper takes half of what is offered and checks it together, each as it would be alone', () => {
  const questions = Array.from({ length: 8 }, (_, seed) => signedQuestion(seed));
  for (let wrong = -1; wrong < questions.length; wrong++) {
    const { board, owner } = rig();
    const batches = new FakeBatches(oddVerifier());
    const helper = new CheckHelper(board, batches);
    // The helper knows the signer of the last: it has answered one of its own.
    owner.offer(0, questions[0].bytes, 0, false);
    owner.publish(0, 1);
    assert.ok(helper.help());
    owner.withdraw(0);
    for (let i = 0; i < questions.length; i++) {
      owner.offer(i + 8, (i === wrong ? spoilt(questions[i]) : questions[i]).bytes, 0, i === 5);
    }
    owner.publish(8, 16);
    const before = batches.alone;
    assert.ok(helper.help());
    const isWrongInBatch = wrong === 4 || wrong === 6 || wrong === 7;
    assert.deepEqual(batches.sizes, [3], 'the last four, without the one that is to be alone');
    assert.equal(batches.alone - before, isWrongInBatch ? 4 : 1);
    for (let i = 0; i < questions.length; i++) {
      const expected = i < 4 ? UNDECIDED : i === wrong ? VERDICT.REFUSED : VERDICT.ACCEPTED;
      assert.equal(owner.verdictOf(i + 8), expected, `question ${i}, wrong is ${wrong}`);
    }
  }
});

test('a verifier thread answers what is offered, sleeps, is woken, and its end stalls nobody', async (t) => {
  const board = createCheckBoard(2);
  const workerData: VerifierOptions = { checkBoard: board, verifier: 'kernel' };
  const worker = new Worker(new URL('../../../../engine/verify/main.ts', import.meta.url), { workerData });
  t.after(() => worker.terminate());
  const owner = new OfferedChecks(board, 1);
  for (let round = 0; round < 3; round++) {
    const begin = round * 8;
    for (let ordinal = begin; ordinal < begin + 8; ordinal++) owner.offer(ordinal, question(ordinal).bytes, 0, false);
    owner.publish(begin, begin + 8);
    await eventually('eight refused signatures of nobody', async () => countOf(board, 1, STATE.REFUSED) === 8);
    for (let ordinal = begin; ordinal < begin + 8; ordinal++) {
      assert.equal(owner.verdictOf(ordinal), VERDICT.REFUSED);
      owner.withdraw(ordinal);
    }
  }
  await worker.terminate();
  owner.offer(24, question(24).bytes, 0, false);
  owner.publish(24, 25);
  assert.equal(owner.verdictOf(24), UNDECIDED);
  assert.ok(owner.claim(24));
});

/** One shard's queue and two helpers in one thread: helpers are interrupted in the middle of a check as well. */
class BoardWorld {
  ran = 0;
  helped = 0;
  late = 0;
  readonly #random: Random;
  readonly #board = createCheckBoard(2);
  readonly #queue: RecordBuffer[] = [];
  readonly #helpers: { helper: CheckHelper; taken: number; isBusy: boolean }[] = [];
  #owner!: OfferedChecks;
  #first = 0;
  #offered = 0;
  #seed = 0;
  #depth = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#startOwner();
    for (let i = 0; i < 2; i++) this.#helpers.push({ helper: this.#newHelper(), taken: -1, isBusy: false });
  }

  step(): void {
    const random = this.#random;
    const dice = random.below(1000);
    if (dice < 300) this.#queue.push(question(this.#seed++));
    else if (dice < 500) this.#offer();
    else if (dice < 700) this.#run();
    else if (dice < 998) this.#help();
    else this.#startOwner();
  }

  finish(): void {
    while (this.#queue.length > 0) this.#run();
  }

  #offer(): void {
    const end = Math.min(this.#first + this.#queue.length, this.#first + CHECK_SLOTS);
    this.#offered = Math.max(this.#offered, this.#first);
    for (; this.#offered < end; this.#offered++) {
      this.#owner.offer(this.#offered, this.#queue[this.#offered - this.#first].bytes, 0, this.#random.chance(10));
    }
    this.#owner.publish(this.#first, this.#offered);
  }

  /** The owner makes checks that no helper has answered, now and then one in advance. */
  #run(): void {
    if (this.#random.chance(10)) this.#owner.claim(this.#first + this.#random.below(4));
    const asked = this.#queue.shift();
    if (asked === undefined) return;
    const verdict = this.#owner.verdictOf(this.#first);
    this.#owner.withdraw(this.#first++);
    if (verdict !== UNDECIDED) {
      assert.equal(verdict, verdictOf(asked), `command ${this.ran}`);
      this.helped++;
    }
    this.ran++;
  }

  #help(): void {
    const random = this.#random;
    const one = random.pick(this.#helpers);
    if (one.isBusy) return;
    one.isBusy = true;
    if (one.taken >= 0 && random.chance(80)) one.helper.answer(one.taken);
    one.taken = one.helper.tryClaim();
    if (random.chance(5)) one.taken = -1;
    if (random.chance(30)) one.helper.help();
    one.isBusy = false;
  }

  /** Everybody else goes on while it computes. */
  #newHelper(): CheckHelper {
    const batches = new FakeBatches(oddVerifier());
    batches.onSlice = () => {
      if (this.#depth >= 2 || !this.#random.chance(30)) return;
      this.#depth++;
      // Now and then so long that its slot is offered again and taken by the other helper.
      const most = this.#random.chance(1) ? 3000 : 30;
      for (let steps = this.#random.below(most); steps > 0; steps--) this.step();
      this.#depth--;
      this.late++;
    };
    return new CheckHelper(this.#board, batches);
  }

  /** The records in the ring of the thread before are lost. */
  #startOwner(): void {
    this.#owner = new OfferedChecks(this.#board, 1);
    this.#queue.length = 0;
    this.#first = 0;
    this.#offered = 0;
  }
}

function rig(): { board: SharedArrayBuffer; owner: OfferedChecks; helper: CheckHelper } {
  const board = createCheckBoard(1);
  return { board, owner: new OfferedChecks(board, 0), helper: new CheckHelper(board, oddVerifier()) };
}

/** Accepts half of all questions, and depends on every byte. */
function oddVerifier(): Verifier {
  return {
    name: 'noble',
    verify(digest, digestOffset, signature, signatureOffset, signer, signerOffset) {
      let bits = 0;
      for (let i = 0; i < HASH_BYTES; i++) bits ^= digest[digestOffset + i];
      for (let i = 0; i < 65; i++) bits ^= signature[signatureOffset + i];
      for (let i = 0; i < 20; i++) bits ^= signer[signerOffset + i];
      return (bits & 1) === 1;
    },
  };
}

/** A PLACE with its hash, whose bytes all depend on the seed; of few signers. */
function question(seed: number): RecordBuffer {
  const record = new RecordBuffer(COMMAND.PLACE.BYTES);
  record.append(COMMAND.PLACE.BYTES, COMMAND.PLACE.TYPE);
  const random = new Random(seed + 1);
  for (const [word, bytes] of [
    [COMMAND.PLACE.hash, 32],
    [COMMAND.PLACE.signature, 65],
  ] as const) {
    for (let i = 0; i < bytes; i++) record.bytes[word * 4 + i] = random.below(256);
  }
  record.bytes[COMMAND.PLACE.signerAddress * 4] = seed % 3;
  return record;
}

/** The same with a valid signature of one signer. */
function signedQuestion(seed: number): RecordBuffer {
  const record = question(seed);
  record.bytes[COMMAND.PLACE.signerAddress * 4] = 0;
  return verdictOf(record) === VERDICT.ACCEPTED ? record : spoilt(record);
}

/** A right one becomes wrong, and the other way round. */
function spoilt({ bytes }: RecordBuffer): RecordBuffer {
  const record = new RecordBuffer(COMMAND.PLACE.BYTES);
  record.append(COMMAND.PLACE.BYTES, COMMAND.PLACE.TYPE);
  record.bytes.set(bytes.subarray(0, COMMAND.PLACE.BYTES));
  record.bytes[COMMAND.PLACE.signature * 4 + 40] ^= 1;
  return record;
}

function verdictOf({ bytes }: RecordBuffer): number {
  const [digest, signature, signer] = [COMMAND.PLACE.hash, COMMAND.PLACE.signature, COMMAND.PLACE.signerAddress];
  const isRight = oddVerifier().verify(bytes, digest * 4, bytes, signature * 4, bytes, signer * 4);
  return isRight ? VERDICT.ACCEPTED : VERDICT.REFUSED;
}

/** The number of a shard's slots in this state. */
function countOf(board: SharedArrayBuffer, shard: number, state: number): number {
  const words = new Int32Array(board);
  const shardWords = (words.length - CHECK_BOARD.WORDS) / 2;
  let count = 0;
  for (let slot = 0; slot < CHECK_SLOTS; slot++) {
    const word = CHECK_BOARD.WORDS + shard * shardWords + CHECK_QUEUE.WORDS + slot * CHECK_SLOT.WORDS;
    if ((Atomics.load(words, word) & STATE_MASK) === state) count++;
  }
  return count;
}
