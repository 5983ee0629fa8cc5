/** A shard's signature checks: which ones are checked together, and that each order is judged as if it were alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandQueue } from '../../../../engine/shard/commandQueue.ts';
import { CheckHelper, OfferedChecks } from '../../../../engine/verify/checkBoard.ts';
import { KEPT_OUT_MS, KeptOut, MOST_KEPT_OUT } from '../../../../engine/verify/keptOut.ts';
import { digestsBy } from '../../../../engine/verify/orderChecks.ts';
import { ShardChecks } from '../../../../engine/verify/shardChecks.ts';
import type { Verifier } from '../../../../engine/verify/verifier.ts';
import { CLOSE_REASON } from '../../../../shared/base/codes.ts';
import { ADDRESS_BYTES, HASH_BYTES, tryParseHex } from '../../../../shared/base/hex.ts';
import { hasherFor } from '../../../../shared/crypto/eip712.ts';
import { createKeccak } from '../../../../shared/crypto/fastKeccak.ts';
import { CHECK_SLOTS, createCheckBoard } from '../../../../shared/wire/checkLayout.ts';
import {
  COMMAND,
  type CommandType,
  claimCommand,
  NO_MARKET,
  PLACE_BIT_AUTHORIZED,
  packKind,
} from '../../../../shared/wire/commands.ts';
import { RecordBuffer, writeSafe } from '../../../../shared/wire/record.ts';
import { RingConsumer, RingProducer } from '../../../../shared/wire/ring.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import { FakeBatches } from '../../../support/batchVerifier.ts';
import { DOMAIN } from '../../../support/engine.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const SEED = seedOr(1);
const [ANN, BOB, EVE] = [1, 2, 3];
const NOW_MS = 1_800_000_000_000;
const MOST = 16;
const { PLACE } = COMMAND;
const keccak = await createKeccak();

test('an order that waits alone is checked alone, and what waits together is checked in one batch', () => {
  const rig = new Rig();
  rig.place(ANN).runAll();
  rig.place(ANN).runAll();
  assert.deepEqual([rig.batches.alone, rig.batches.sizes], [2, []]);
  for (let i = 0; i < 5; i++) rig.place(ANN);
  assert.deepEqual(rig.runAll(), [true, true, true, true, true]);
  assert.deepEqual([rig.batches.alone, rig.batches.sizes], [2, [5]]);
  assert.deepEqual([rig.checks.counts.alone, rig.checks.counts.together], [2, 5]);
});

test('the first order of a signer is checked alone, and the next ones together with those of others', () => {
  const rig = new Rig();
  for (const account of [ANN, BOB, ANN, BOB, ANN, BOB]) rig.place(account);
  rig.runAll();
  assert.deepEqual([rig.batches.alone, rig.batches.sizes], [2, [4]]);
});

test('a batch has at most as many as the verifier takes, and goes on with what waits behind', () => {
  const rig = new Rig([ANN]);
  for (let i = 0; i < 2 * MOST + 3; i++) rig.place(ANN);
  rig.runAll();
  assert.deepEqual(rig.batches.sizes, [MOST, MOST, 3]);
});

test('one wrong signature in a batch of any size, at any place: the others are judged as they are alone', () => {
  for (let size = 2; size <= MOST; size++) {
    for (let wrong = 0; wrong < size; wrong++) {
      const rig = new Rig([ANN, BOB, EVE]);
      for (let i = 0; i < size; i++) rig.place(i === wrong ? EVE : [ANN, BOB][i % 2], { isWrong: i === wrong });
      const verdicts = rig.runAll();
      assert.deepEqual(
        verdicts,
        verdicts.map((_, i) => i !== wrong),
        `of ${size} number ${wrong} is wrong`,
      );
      assert.deepEqual(rig.takeCounts(), { sizes: [size], alone: size });
      assert.deepEqual([rig.checks.counts.undecided, rig.checks.counts.keptOut], [1, 1]);
    }
  }
});

test('the account of a wrong signature is in no batch for a minute of the commands, and then in the next', () => {
  const rig = new Rig([ANN, EVE]);
  rig.place(ANN).place(EVE, { isWrong: true }).place(ANN).runAll();
  const { sizes, alone } = rig.takeCounts();
  assert.deepEqual([sizes, alone], [[3], 3]);
  rig.nowMs += KEPT_OUT_MS - 1;
  for (let i = 0; i < 4; i++) rig.place(ANN).place(EVE, { isWrong: i === 2 });
  assert.deepEqual(rig.runAll(), [true, true, true, true, true, false, true, true]);
  assert.deepEqual(rig.takeCounts(), { sizes: [4], alone: 4 }, 'its orders are right or wrong by themselves');
  rig.nowMs += KEPT_OUT_MS;
  for (let i = 0; i < 4; i++) rig.place(ANN).place(EVE);
  rig.runAll();
  assert.deepEqual(rig.takeCounts(), { sizes: [8], alone: 0 });
});

test('who is not entitled to a signer spoils no batch, and does not keep its owner out', () => {
  const rig = new Rig([ANN]);
  for (let i = 0; i < 4; i++) rig.place(ANN).place(EVE, { signer: ANN, isWrong: true, isAuthorized: false });
  assert.deepEqual(rig.runAll(), [true, false, true, false, true, false, true, false]);
  assert.deepEqual(rig.takeCounts(), { sizes: [4], alone: 4 });
  for (let i = 0; i < 4; i++) rig.place(ANN);
  rig.runAll();
  assert.deepEqual(rig.takeCounts(), { sizes: [4], alone: 0 });
});

test('a wrong signature is found out although the engine refuses its order for another reason', () => {
  const rig = new Rig([ANN, EVE]);
  rig.place(ANN).place(EVE, { isWrong: true }).place(ANN);
  while (rig.waiting > 0) rig.turn(false);
  assert.equal(rig.checks.counts.keptOut, 1);
});

test('a verdict and a digest are those of exactly these bytes', () => {
  for (const at of [PLACE.salt * 4, PLACE.signature * 4 + 64, PLACE.signerAddress * 4, PLACE.minTakerNet * 4]) {
    const rig = new Rig([ANN]);
    rig.place(ANN).place(ANN).place(ANN);
    // All three are decided, and the first has not run.
    while (rig.slice()) {}
    assert.deepEqual(rig.batches.sizes, [3]);
    rig.ring.bytes[rig.wordOf(1) * 4 + at] ^= 1;
    assert.deepEqual(rig.runAll(), [true, false, true], `byte ${at}`);
    assert.equal(rig.takeCounts().alone, 1, 'the changed one is checked by itself');
    assert.deepEqual(rig.hashes[1], rig.hashOf(rig.hashed[1]));
  }
});

test('an order that was accepted once is refused without a check', () => {
  const rig = new Rig([ANN]);
  rig.place(ANN).place(ANN);
  const [first] = [rig.hashWords(0)];
  rig.accepted.add(first);
  while (rig.waiting > 0) rig.turn(false);
  assert.deepEqual(rig.takeCounts(), { sizes: [], alone: 0 });
});

test('a batch ends before a command that changes the domain, and the digests behind it are of the new one', () => {
  const rig = new Rig([ANN]);
  const next = { ...DOMAIN, chainId: DOMAIN.chainId + 1 };
  rig.place(ANN).place(ANN).contracts(next.chainId).place(ANN, { chainId: next.chainId });
  rig.place(ANN, { chainId: next.chainId }).place(ANN, { chainId: DOMAIN.chainId });
  assert.deepEqual(rig.runAll(), [true, true, true, true, false]);
  assert.deepEqual(rig.takeCounts(), { sizes: [2, 3], alone: 3 }, 'the last is signed for the former contracts');
});

test('between two chances for a cancel lie a few digests, one step of a batch or one check', () => {
  const rig = new Rig([ANN]);
  for (let i = 0; i < MOST; i++) rig.place(ANN, { isWrong: i === 3 });
  let slices = 0;
  let inSlice = 0;
  rig.batches.onSlice = () => {
    inSlice++;
  };
  while (rig.waiting > 0) {
    const digests = rig.digested;
    inSlice = 0;
    rig.turn();
    slices++;
    assert.ok(inSlice <= 1, `${inSlice} checks in a turn`);
    assert.ok(rig.digested - digests <= 8, 'digests of a turn');
  }
  assert.ok(slices >= 2 * MOST, `${slices} turns`);
});

test('beside verifier threads the shard checks others together, and each verdict is that of a check alone', () => {
  const random = new Random(SEED);
  for (let round = 0; round < 200; round++) {
    const board = createCheckBoard(1);
    const rig = new Rig([ANN, BOB, EVE], board);
    const helper = new CheckHelper(board, new FakeBatches(rightVerifier()));
    const expected: boolean[] = [];
    let taken = -1;
    for (let step = 0; step < 100; step++) {
      const dice = random.below(10);
      if (dice < 3) {
        const account = random.pick([ANN, BOB, EVE]);
        const isWrong = account === EVE && random.chance(30);
        rig.place(account, { isWrong });
        expected.push(!isWrong);
      } else if (dice < 4 && taken < 0) taken = helper.tryClaim();
      else if (dice < 5 && taken >= 0) {
        helper.answer(taken);
        taken = -1;
      } else if (dice < 6) helper.help();
      else if (rig.waiting > 0) rig.turn();
    }
    rig.runAll();
    assert.deepEqual(rig.verdicts, expected, `seed ${SEED}, round ${round}`);
  }
});

test('a batch under way decides its own orders and no later ones in their slots, whatever a helper answers', () => {
  const board = createCheckBoard(1);
  const rig = new Rig([ANN], board);
  const helper = new CheckHelper(board, rightVerifier());
  for (let i = 0; i < 2 * MOST; i++) rig.place(ANN);
  rig.slice();
  const late = helper.tryClaim();
  const at = MOST; // the offers of a turn begin with the second
  assert.ok(late >= 0);
  rig.runAll();
  // The order in the slot of the late one is the first of a batch; the order in the next slot is forged.
  const count = CHECK_SLOTS - 2 * MOST + at + CHECK_SLOTS;
  for (let i = 0; i < count; i++) rig.place(ANN);
  rig.place(ANN, { isWrong: true }).place(ANN);
  const isNext = () => rig.waiting === CHECK_SLOTS + 2;
  while (!isNext()) rig.turn();
  rig.slice();
  helper.answer(late);
  assert.deepEqual(rig.runAll(), [...Array(count).fill(true), false, true]);
});

test('a verifier thread that has the first check and dies holds the shard up for no more than its other checks', () => {
  const board = createCheckBoard(1);
  const rig = new Rig([ANN], board);
  const helper = new CheckHelper(board, new FakeBatches(rightVerifier()));
  for (let i = 0; i < 6; i++) rig.place(ANN);
  rig.slice(); // offers all but the first, and takes the first into a batch
  for (let i = 0; i < 5; i++) helper.tryClaim();
  assert.deepEqual(rig.runAll(), Array(6).fill(true));
  const { sizes, alone } = rig.takeCounts();
  assert.equal(sizes.reduce((sum, size) => sum + size, 0) + alone, 6, 'each is checked once');
});

test('without batches the shard makes other checks while a verifier thread has the first, or makes that one', () => {
  const board = createCheckBoard(1);
  const alone = { name: 'noble', verify: rightVerifier().verify };
  const rig = new Rig([], board, alone);
  for (let i = 0; i < 5; i++) rig.place(ANN);
  assert.equal(rig.slice(), false, 'the first is the own; the others are offered');
  rig.turn();
  const helper = new CheckHelper(board, rightVerifier());
  for (let i = 0; i < 4; i++) assert.ok(helper.tryClaim() >= 0);
  assert.equal(rig.slice(), false, 'all are taken: the shard makes the first itself');
  for (let i = 0; i < 4; i++) rig.place(ANN);
  assert.equal(rig.slice(), true, 'one that nobody has');
  assert.equal(rig.checks.counts.alone, 2);
  assert.deepEqual(rig.runAll(), Array(9).fill(true));
  assert.equal(rig.checks.counts.alone, 9, 'each once');
});

test('the table of those who are kept out is bounded: one more lets the first of them in early', () => {
  const kept = new KeptOut();
  for (let account = 0; account <= MOST_KEPT_OUT; account++) kept.add(account, NOW_MS);
  assert.deepEqual([kept.has(0, NOW_MS), kept.has(1, NOW_MS), kept.has(MOST_KEPT_OUT, NOW_MS)], [false, true, true]);
  assert.equal(kept.size, MOST_KEPT_OUT);
});

type OrderOptions = { signer?: number; isWrong?: boolean; isAuthorized?: boolean; chainId?: number };

/** A queue on a real ring; a signature is right when it begins with the digest. */
class Rig {
  readonly ring: RingConsumer;
  readonly batches = new FakeBatches(rightVerifier(), MOST, 3);
  readonly checks: ShardChecks;
  /** For the commands that ran: verdicts, hashes, and hashed orders. */
  readonly verdicts: boolean[] = [];
  readonly hashes: Uint8Array[] = [];
  readonly hashed: Uint32Array[] = [];
  readonly accepted = new Set<number>();
  digested = 0;
  nowMs = NOW_MS;
  readonly #producer: RingProducer;
  readonly #queue: CommandQueue;
  readonly #digests = digestsBy(hasherFor(DOMAIN, keccak));
  readonly #command = new RecordBuffer(1024);
  #salt = 0;
  #takenSizes = 0;
  #takenAlone = 0;
  #shown = 0;

  /**
   * @param known accounts whose signers the verifier knows.
   * @param board memory that verifier threads share.
   * @param verifier one without batches.
   */
  constructor(known: number[] = [], board?: SharedArrayBuffer, verifier?: Verifier) {
    const ring = createRingBuffer(1 << 18);
    this.#producer = new RingProducer(ring);
    this.ring = new RingConsumer(ring);
    this.#queue = new CommandQueue(this.ring.capacity);
    const digests = this.#digests;
    this.checks = new ShardChecks({
      digests: {
        ...digests,
        placeDigest: (...record) => {
          this.digested++;
          digests.placeDigest(...record);
        },
      },
      verifier: verifier ?? this.batches,
      board: board && new OfferedChecks(board, 0),
    });
    for (const account of known) this.place(account).runAll();
    this.takeCounts();
    this.verdicts.length = 0;
    this.hashes.length = 0;
    this.hashed.length = 0;
    this.#shown = 0;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  place(account: number, { signer = account, isWrong = false, isAuthorized = true, chainId }: OrderOptions = {}): this {
    const word = this.#begin(PLACE.TYPE, account);
    const { words, bytes } = this.#producer;
    words[word + PLACE.salt] = ++this.#salt;
    words[word + PLACE.signerAddress] = signer;
    words[word + PLACE.kind] = packKind(0, 0, 0, isAuthorized ? PLACE_BIT_AUTHORIZED : 0);
    digestsBy(hasherFor({ ...DOMAIN, chainId: chainId ?? DOMAIN.chainId }, keccak)).placeDigest(
      words,
      bytes,
      word,
      bytes,
      (word + PLACE.signature) * 4,
    );
    if (isWrong) bytes[(word + PLACE.signature) * 4 + 7] ^= 1;
    return this.#sent();
  }

  contracts(chainId: number): this {
    const word = this.#begin(COMMAND.CONTRACTS.TYPE, 0);
    writeSafe(this.#producer.words, word + COMMAND.CONTRACTS.chainId, chainId);
    tryParseHex(DOMAIN.verifyingContract, ADDRESS_BYTES, this.#producer.bytes, (word + COMMAND.CONTRACTS.exchange) * 4);
    return this.#sent();
  }

  wordOf(index: number): number {
    return this.#queue.wordOf(this.#queue.first + index);
  }

  /** The first word of the hash of a waiting order. */
  hashWords(index: number): number {
    const { words } = this.ring;
    const word = this.wordOf(index);
    return new Uint32Array(this.hashOf(words.slice(word, word + PLACE.BYTES / 4)).buffer)[0];
  }

  hashOf(record: Uint32Array): Uint8Array {
    const out = new Uint8Array(HASH_BYTES);
    this.#digests.placeDigest(record, new Uint8Array(record.buffer), 0, out, 0);
    return out;
  }

  /** A slice of work on signatures. @returns whether there was one. */
  slice(): boolean {
    return this.checks.work(this.#queue, { has: (words, word) => this.accepted.has(words[word]) });
  }

  /** Takes a turn of the loop: a slice of checks, or the first command runs. */
  turn(asks = true): void {
    if (this.slice()) return;
    const { first } = this.#queue;
    const { words, bytes } = this.#command;
    const word = this.#queue.wordOf(first);
    this.#command.clear();
    this.#command.appendRecords(this.ring.words, word, this.ring.words[word]);
    this.checks.take(first);
    if (this.#queue.isSigned(first)) {
      this.checks.writeHash(words, bytes, 0);
      if (asks) this.verdicts.push(this.checks.isSigned(words, bytes, 0));
      this.hashes.push(bytes.slice(PLACE.hash * 4, PLACE.hash * 4 + HASH_BYTES));
      this.hashed.push(words.slice(0, PLACE.BYTES / 4));
    } else if ((words[1] & 0xffff) === COMMAND.CONTRACTS.TYPE) {
      const exchange = bytes.slice(COMMAND.CONTRACTS.exchange * 4, COMMAND.CONTRACTS.exchange * 4 + ADDRESS_BYTES);
      this.checks.setDomain(words[COMMAND.CONTRACTS.chainId], exchange);
    }
    this.#queue.shift();
    this.ring.release(this.#queue.isEmpty ? undefined : this.#queue.wordOf(this.#queue.first));
  }

  /** @returns the verdicts since the last time. */
  runAll(): boolean[] {
    while (this.waiting > 0) this.turn();
    const since = this.verdicts.slice(this.#shown);
    this.#shown = this.verdicts.length;
    return since;
  }

  /** Batches and checks alone since the last time. */
  takeCounts(): { sizes: number[]; alone: number } {
    const taken = { sizes: this.batches.sizes.slice(this.#takenSizes), alone: this.batches.alone - this.#takenAlone };
    this.#takenSizes = this.batches.sizes.length;
    this.#takenAlone = this.batches.alone;
    return taken;
  }

  #begin(type: CommandType, account: number): number {
    const word = claimCommand(this.#producer, type, 1, account, this.nowMs, NO_MARKET, CLOSE_REASON.USER);
    assert.ok(word >= 0, 'the ring has room');
    return word;
  }

  #sent(): this {
    this.#producer.publish();
    for (let word = this.ring.next(); word >= 0; word = this.ring.next()) this.#queue.push(0, this.ring, word);
    return this;
  }
}

function rightVerifier(): Verifier {
  return {
    name: 'noble',
    verify(digest, digestOffset, signature, signatureOffset) {
      for (let i = 0; i < HASH_BYTES; i++)
        if (signature[signatureOffset + i] !== digest[digestOffset + i]) return false;
      return signature[signatureOffset + 64] === 0;
    },
  };
}
