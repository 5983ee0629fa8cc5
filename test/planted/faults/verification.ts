/** Planted faults (faults.ts) of signatures, the threads that verify them and the kernel. */
import type { Fault } from './fault.ts';

const KERNEL = 'engine/verify/kernel/wasm';
const KERNEL_TESTS = 'test/unit/engine/verify/kernel';

export const VERIFICATION_FAULTS: readonly Fault[] = [
  {
    name: 'nonce and fee change places in the digest of an order',
    file: 'engine/verify/placeDigest.ts',
    search: 'readSafe(words, word + PLACE.nonce),\n    words[word + PLACE.feeBps],',
    replace: 'words[word + PLACE.feeBps],\n    readSafe(words, word + PLACE.nonce),',
    caughtBy: 'test/unit/engine/verify/placeDigest.test.ts',
  },
  {
    name: 'a verdict counts for another order than the one it was given on',
    file: 'engine/verify/shardChecks.ts',
    search: 'const state = this.#isTaken(words, word, HASH) ?',
    replace: 'const state = this.#taken !== NO_SLOT ?',
    caughtBy: 'test/unit/engine/verify/shardChecks.test.ts',
  },
  {
    name: 'a verifier thread that was held up answers for the next question in the slot',
    file: 'engine/verify/checkBoard.ts',
    search: 'const claimed = this.#states[stateWord];',
    replace: 'const claimed = Atomics.load(this.#words, stateWord);',
    caughtBy: 'test/unit/engine/verify/checkBoard.test.ts',
  },
  {
    name: 'a batch that decided nothing accepts its signatures',
    file: 'engine/verify/shardChecks.ts',
    search: 'this.#states[slot] = ALONE;',
    replace: 'this.#states[slot] = ACCEPTED;',
    caughtBy: 'test/unit/engine/verify/shardChecks.test.ts',
  },
  {
    name: 'a signer that the account may not use spoils the batch of others',
    file: 'engine/verify/shardChecks.ts',
    search: 'if ((kindBits(words[word + PLACE.kind]) & PLACE_BIT_AUTHORIZED) === 0) return false;',
    replace: '',
    caughtBy: 'test/unit/engine/verify/shardChecks.test.ts',
  },
  {
    name: 'a batch goes on behind a command that changes what orders are signed for',
    file: 'engine/verify/shardChecks.ts',
    search: '      if (queue.changesDomain(at)) break;\n',
    replace: '',
    caughtBy: 'test/unit/engine/verify/shardChecks.test.ts',
  },
  {
    name: 'the signatures of a batch have the same random coefficient',
    file: `${KERNEL}/batch.as`,
    search: 'random + COEFFICIENT_BYTES * i',
    replace: 'random',
    caughtBy: `${KERNEL_TESTS}/forgeries.test.ts`,
  },
  {
    name: 'half of a random coefficient is always the same',
    file: `${KERNEL}/batch.as`,
    search: 'store<u64>(at + item.RANDOM, load<u64>(random, 8), 8);',
    replace: 'store<u64>(at + item.RANDOM, 1, 8);',
    caughtBy: `${KERNEL_TESTS}/forgeries.test.ts`,
  },
  {
    name: 'random coefficients are used again',
    file: 'engine/verify/kernel/kernel.ts',
    search: 'this.#randomAt += length;',
    replace: '',
    caughtBy: `${KERNEL_TESTS}/forgeries.test.ts`,
  },
  {
    name: 'a signature may join a batch whose coefficients are drawn',
    file: 'engine/verify/kernel/kernel.ts',
    search: '!this.#isClosed && this.#count < MOST_BATCH',
    replace: 'this.#count < MOST_BATCH',
    caughtBy: `${KERNEL_TESTS}/forgeries.test.ts`,
  },
  {
    name: 'the sign of a part of a scalar is forgotten',
    file: `${KERNEL}/terms.as`,
    search: 'isBelow != isNegative ? 1 : 0',
    replace: 'isBelow ? 1 : 0',
    caughtBy: `${KERNEL_TESTS}/verdicts.test.ts`,
  },
  {
    name: 'v does not count in a batch',
    file: `${KERNEL}/equation.as`,
    search: 'load<i32>(at + item.BIT)',
    replace: 'load<i32>(at + item.BIT) & 0',
    caughtBy: `${KERNEL_TESTS}/batchVerdicts.test.ts`,
  },
  {
    name: 'v does not count for a signer whose key is known',
    file: `${KERNEL}/check.as`,
    search: ' && isOdd(Y) == (bit == 1)',
    replace: '',
    caughtBy: `${KERNEL_TESTS}/verdicts.test.ts`,
  },
  {
    name: 'the kernel accepts a high s',
    file: `${KERNEL}/signature.as`,
    search: 'if (isZero(s) || !isAtMost(s, HALF_0, HALF_1, HALF_2, HALF_3)) return NOT_CANONICAL;',
    replace: 'if (isZero(s)) return NOT_CANONICAL;',
    caughtBy: `${KERNEL_TESTS}/verdicts.test.ts`,
  },
  {
    name: 'the kernel accepts whoever signed',
    file: `${KERNEL}/check.as`,
    search: ' || !isAddressOf(address)',
    replace: '',
    caughtBy: `${KERNEL_TESTS}/verdicts.test.ts`,
  },
  {
    name: 'a pair of equal points is added as if they were different',
    file: `${KERNEL}/pairs.as`,
    search: 'if (!isZero(denominator)) return 0;',
    replace: 'return 0;',
    caughtBy: `${KERNEL_TESTS}/batchVerdicts.test.ts`,
  },
  {
    name: 'a product of two doublings overflows',
    file: `${KERNEL}/pairs.as`,
    search: '    normalise(denominator);\n',
    replace: '',
    caughtBy: `${KERNEL_TESTS}/batchVerdicts.test.ts`,
  },
  {
    name: 'a difference found by a spot check changes nothing',
    file: 'engine/verify/spotCheck.ts',
    search: 'SPOT_QUEUE.differences) !== 0;',
    replace: 'SPOT_QUEUE.differences) < 0;',
    caughtBy: 'test/unit/engine/verify/spotCheck.test.ts',
  },
];
