/** Signature checks between threads: whichever thread answers or dies, a verdict belongs to its own question. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { CheckHelper, OfferedChecks } from '../../../../engine/verify/checkBoard.ts';
import { createVerifier } from '../../../../engine/verify/createVerifier.ts';
import type { Verifier } from '../../../../engine/verify/verifier.ts';
import { HASH_BYTES } from '../../../../shared/base/hex.ts';
import { hasherFor } from '../../../../shared/crypto/eip712.ts';
import { createKeccak } from '../../../../shared/crypto/fastKeccak.ts';
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
import { DOMAIN } from '../../../support/engine.ts';
import { eventually } from '../../../support/eventually.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const SEED = seedOr(1);
const hasher = hasherFor(DOMAIN, await createKeccak());

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
  const { owner, helper, own } = rig();
  const questions = [question(1), question(2), question(3)];
  for (const [ordinal, one] of questions.entries()) owner.offer(ordinal, one, 0);
  owner.publish(0, questions.length);
  assert.ok(helper.tryClaim() >= 0, 'the last is taken and never answered');
  assert.ok(helper.help(), 'the one before it is answered');
  for (const [ordinal, one] of questions.entries()) {
    owner.withdraw(ordinal);
    assert.equal(ask(owner, one), isRight(one));
  }
  assert.equal(own.count, 2, 'the first, and the one that was never answered');
});

test('while a helper is at the first check, its owner makes the others, and never waits', () => {
  const { owner, helper, own } = rig();
  const questions = [0, 1, 2, 3].map((seed) => question(seed));
  assert.equal(owner.checkAnother(0, 4), false, 'nothing is offered');
  owner.offer(0, questions[0], 0);
  owner.publish(0, 1);
  assert.ok(helper.tryClaim() >= 0, 'the first is taken');
  assert.equal(owner.checkAnother(0, 1), false, 'there is no other');
  for (const ordinal of [1, 3]) owner.offer(ordinal, questions[ordinal], 0);
  assert.deepEqual(
    [1, 2, 3].map(() => owner.checkAnother(0, 4)),
    [true, true, false],
    'the one between is no order',
  );
  assert.equal(own.count, 2);
  for (const ordinal of [0, 1, 3]) {
    owner.withdraw(ordinal);
    assert.equal(ask(owner, questions[ordinal]), isRight(questions[ordinal]));
  }
  assert.equal(own.count, 3, 'the helper that never answered cost one check, the others were not made twice');
});

test('an owner whose first check nobody has makes that one and no other', () => {
  const { owner, own } = rig();
  for (const ordinal of [0, 1]) owner.offer(ordinal, question(ordinal), 0);
  owner.publish(0, 2);
  assert.equal(owner.checkAnother(0, 2), false);
  assert.equal(own.count, 0);
});

test('a helper makes a check that is offered before it sleeps, and sleeps only where it finds none', (t) => {
  const { owner, helper, own } = rig();
  const waits: unknown[] = [];
  t.mock.method(Atomics, 'wait', (_words: Int32Array, word: number, _bell: number, timeoutMs: number) => {
    waits.push([word, timeoutMs]);
    return 'timed-out';
  });
  owner.offer(0, question(1), 0);
  owner.publish(0, 1);
  helper.sleep(50);
  assert.deepEqual(waits, []);
  owner.withdraw(0);
  assert.equal(ask(owner, question(1)), isRight(question(1)));
  assert.equal(own.count, 0, 'the helper has made it');
  helper.sleep(50);
  assert.deepEqual(waits, [[CHECK_BOARD.bell, 50]]);
});

test('a late verdict is never taken for that of the next question in its slot, though that is being checked', () => {
  const { board, owner, helper } = rig();
  const numbers = Array.from({ length: 50 }, (_, seed) => seed);
  const right = question(numbers.find((seed) => isRight(question(seed)))!);
  const wrong = question(numbers.find((seed) => !isRight(question(seed)))!);
  const slow: Verifier = {
    name: 'noble',
    verify: () => {
      owner.withdraw(0);
      owner.offer(CHECK_SLOTS, wrong, 0);
      owner.publish(CHECK_SLOTS, CHECK_SLOTS + 1);
      assert.ok(helper.tryClaim() >= 0, 'another helper is at the next question');
      return true;
    },
  };
  owner.offer(0, right, 0);
  owner.publish(0, 1);
  assert.ok(new CheckHelper(board, slow).help());
  owner.withdraw(CHECK_SLOTS);
  assert.equal(ask(owner, wrong), false);
});

test('a verdict does not hold for other bytes: a domain that moved on, another signature', () => {
  const { owner, helper, own } = rig();
  const asked = question(2);
  owner.offer(0, asked, 0);
  owner.publish(0, 1);
  assert.ok(helper.help());
  owner.withdraw(0);
  asked.bytes[COMMAND.PLACE.signature * 4 + 64] ^= 1;
  assert.equal(ask(owner, asked), isRight(asked));
  asked.bytes[COMMAND.PLACE.signature * 4 + 64] ^= 1;
  const digest = digestOf(asked);
  digest[0] ^= 1;
  const { bytes } = asked;
  const [signature, signer] = [COMMAND.PLACE.signature * 4, COMMAND.PLACE.signerAddress * 4];
  assert.equal(owner.verify(digest, 0, bytes, signature, bytes, signer), !isRight(asked));
  assert.equal(own.count, 2);
});

test('a new thread of a shard believes nothing that the one before it had offered', () => {
  const { board, owner, helper } = rig();
  const before = question(2);
  owner.offer(0, before, 0);
  owner.publish(0, 1);
  const taken = helper.tryClaim();
  const own = countingVerifier();
  const next = new OfferedChecks(board, 0, own, hasher);
  assert.equal(helper.tryClaim(), -1, 'nothing is offered any more');
  const after = question(1);
  next.offer(0, after, 0);
  next.publish(0, 1);
  helper.answer(taken);
  next.withdraw(0);
  assert.equal(ask(next, after), isRight(after));
  assert.equal(own.count, 1);
});

test('a verifier thread answers what is offered, sleeps, is woken, and its end stalls nobody', async (t) => {
  const board = createCheckBoard(2);
  const workerData: VerifierOptions = { checkBoard: board, signerTables: null, verifier: 'auto' };
  const worker = new Worker(new URL('../../../../engine/verify/main.ts', import.meta.url), { workerData });
  t.after(() => worker.terminate());
  const own = countingVerifier(createVerifier('auto'));
  const owner = new OfferedChecks(board, 1, own, hasher);
  for (let round = 0; round < 3; round++) {
    const begin = round * 8;
    for (let ordinal = begin; ordinal < begin + 8; ordinal++) owner.offer(ordinal, question(ordinal), 0);
    owner.publish(begin, begin + 8);
    await eventually('eight refused signatures of nobody', async () => countOf(board, 1, STATE.REFUSED) === 8);
    for (let ordinal = begin; ordinal < begin + 8; ordinal++) {
      owner.withdraw(ordinal);
      assert.equal(ask(owner, question(ordinal)), false);
    }
  }
  assert.equal(own.count, 0, 'the owner had nothing left to do');
  await worker.terminate();
  owner.offer(24, question(24), 0);
  owner.publish(24, 25);
  owner.withdraw(24);
  assert.equal(ask(owner, question(24)), false);
  assert.equal(own.count, 1);
});

/** One shard's queue and two helpers in one thread: helpers are interrupted in the middle of a check as well. */
class BoardWorld {
  ran = 0;
  helped = 0;
  late = 0;
  readonly #random: Random;
  readonly #board = createCheckBoard(2);
  readonly #own = countingVerifier();
  readonly #queue: RecordBuffer[] = [];
  readonly #helpers: { helper: CheckHelper; taken: number }[] = [];
  #owner!: OfferedChecks;
  #first = 0;
  #offered = 0;
  #seed = 0;
  #depth = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#startOwner();
    for (let i = 0; i < 2; i++) this.#helpers.push({ helper: this.#newHelper(), taken: -1 });
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
      this.#owner.offer(this.#offered, this.#queue[this.#offered - this.#first], 0);
    }
    this.#owner.publish(this.#first, this.#offered);
  }

  #run(): void {
    if (this.#random.chance(30) && this.#owner.checkAnother(this.#first, this.#offered)) return;
    const asked = this.#queue.shift();
    if (asked === undefined) return;
    const before = this.#own.count;
    this.#owner.withdraw(this.#first++);
    assert.equal(ask(this.#owner, asked), isRight(asked), `command ${this.ran}`);
    if (this.#own.count === before) this.helped++;
    this.ran++;
  }

  #help(): void {
    const random = this.#random;
    const one = random.pick(this.#helpers);
    if (one.taken >= 0 && random.chance(80)) one.helper.answer(one.taken);
    one.taken = one.helper.tryClaim();
    if (random.chance(5)) one.taken = -1;
    if (random.chance(30)) one.helper.help();
  }

  /** Everybody else goes on while it computes. */
  #newHelper(): CheckHelper {
    const verify: Verifier['verify'] = (...asked) => {
      const verdict = countingVerifier().verify(...asked);
      if (this.#depth < 2 && this.#random.chance(30)) {
        this.#depth++;
        // Now and then so long that its slot is offered again, and taken by the other one.
        const most = this.#random.chance(1) ? 3000 : 30;
        for (let steps = this.#random.below(most); steps > 0; steps--) this.step();
        this.#depth--;
        this.late++;
      }
      return verdict;
    };
    return new CheckHelper(this.#board, { name: 'noble', verify });
  }

  /** The records in the ring of the thread before are lost. */
  #startOwner(): void {
    this.#owner = new OfferedChecks(this.#board, 1, this.#own, hasher);
    this.#queue.length = 0;
    this.#first = 0;
    this.#offered = 0;
  }
}

function rig(): { board: SharedArrayBuffer; owner: OfferedChecks; helper: CheckHelper; own: CountingVerifier } {
  const board = createCheckBoard(1);
  const own = countingVerifier();
  const helper = new CheckHelper(board, countingVerifier());
  return { board, owner: new OfferedChecks(board, 0, own, hasher), helper, own };
}

type CountingVerifier = Verifier & { count: number };

/** Says yes to half of all questions, and every byte of one matters. */
function countingVerifier(inner?: Verifier): CountingVerifier {
  const verifier: CountingVerifier = {
    name: 'noble',
    count: 0,
    verify(digest, digestOffset, signature, signatureOffset, signer, signerOffset) {
      verifier.count++;
      if (inner) return inner.verify(digest, digestOffset, signature, signatureOffset, signer, signerOffset);
      let bits = 0;
      for (let i = 0; i < HASH_BYTES; i++) bits ^= digest[digestOffset + i];
      for (let i = 0; i < 65; i++) bits ^= signature[signatureOffset + i];
      for (let i = 0; i < 20; i++) bits ^= signer[signerOffset + i];
      return (bits & 1) === 1;
    },
  };
  return verifier;
}

/** A PLACE whose bytes all depend on the seed. */
function question(seed: number): RecordBuffer {
  const record = new RecordBuffer(COMMAND.PLACE.BYTES);
  record.append(COMMAND.PLACE.BYTES, COMMAND.PLACE.TYPE);
  const random = new Random(seed + 1);
  for (const [word, bytes] of [
    [COMMAND.PLACE.salt, 32],
    [COMMAND.PLACE.signerAddress, 20],
    [COMMAND.PLACE.signature, 65],
  ] as const) {
    for (let i = 0; i < bytes; i++) record.bytes[word * 4 + i] = random.below(256);
  }
  return record;
}

function digestOf({ bytes }: RecordBuffer): Uint8Array {
  const digest = new Uint8Array(HASH_BYTES);
  const at = [COMMAND.PLACE.salt, COMMAND.PLACE.makerAddress, COMMAND.PLACE.signerAddress, COMMAND.PLACE.tokenId].map(
    (word) => word * 4,
  );
  hasher.digest(bytes, at[0], at[1], at[2], at[3], 0, 0, 0, 0, 0, 0, 0, digest, 0);
  return digest;
}

function ask(verifier: Verifier, record: RecordBuffer): boolean {
  const { bytes } = record;
  return verifier.verify(
    digestOf(record),
    0,
    bytes,
    COMMAND.PLACE.signature * 4,
    bytes,
    COMMAND.PLACE.signerAddress * 4,
  );
}

function isRight(record: RecordBuffer): boolean {
  return ask(countingVerifier(), record);
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
