/**
 * A batch of signatures, checked in steps. Signatures of signers whose key is kept take part in one equation
 * (equation.as), unless they are fewer than three: then each is checked alone, which is faster. Those of other signers
 * stay undecided.
 */
import { check } from './check';
import * as equation from './equation';
import * as item from './item';
import { NOT_CANONICAL, recoveryBit } from './signature';
import * as signers from './signers';

const LEAST: usize = 3;
const COEFFICIENT_BYTES: usize = 16;

let count: usize = 0;
let hasBegun: bool = false;
/** The next item that is checked alone. */
let next: usize = 0;

export function beginBatch(): void {
  count = 0;
  next = 0;
  hasBegun = false;
  signers.releaseSigners();
  equation.beginEquation();
}

export function addToBatch(digest: usize, signature: usize, signer: usize): void {
  const at = item.itemAt(count++);
  memory.copy(at + item.DIGEST, digest, 32);
  memory.copy(at + item.SIGNATURE, signature, 65);
  memory.copy(at + item.SIGNER, signer, 20);
  store<u32>(at + item.VERDICT, item.UNDECIDED);
  const bit = recoveryBit(signature);
  store<i32>(at + item.BIT, bit);
  if (bit == NOT_CANONICAL) {
    store<u32>(at + item.VERDICT, item.REFUSED);
    return;
  }
  const entry = signers.findSigner(signer);
  if (entry == 0) return;
  signers.joinBatch(entry);
  item.setLink(at, item.ENTRY, entry);
  equation.join(at);
}

/** `random`: for the first step, 16 random bytes for each signature. @returns whether the batch is done. */
export function stepBatch(random: usize): bool {
  if (equation.size() < LEAST && !hasBegun) return checkNext();
  if (!hasBegun) {
    hasBegun = true;
    for (let i: usize = 0; i < equation.size(); i++) setCoefficient(equation.itemOf(i), random + COEFFICIENT_BYTES * i);
    equation.beginSteps();
  }
  if (!equation.stepEquation()) return false;
  if (equation.isSumInfinity()) {
    for (let i: usize = 0; i < equation.size(); i++) store<u32>(equation.itemOf(i) + item.VERDICT, item.ACCEPTED);
  }
  return true;
}

function setCoefficient(at: usize, random: usize): void {
  store<u64>(at + item.RANDOM, load<u64>(random));
  store<u64>(at + item.RANDOM, load<u64>(random, 8), 8);
  // Zero would leave the signature out of the equation.
  if ((load<u64>(random) | load<u64>(random, 8)) == 0) store<u64>(at + item.RANDOM, 1);
}

function checkNext(): bool {
  if (next >= equation.size()) return true;
  const at = equation.itemOf(next++);
  const isRight = check(at + item.DIGEST, at + item.SIGNATURE, at + item.SIGNER);
  store<u32>(at + item.VERDICT, isRight ? item.ACCEPTED : item.REFUSED);
  return next >= equation.size();
}

export function verdictOf(index: usize): i32 {
  return load<i32>(item.itemAt(index) + item.VERDICT);
}
