/**
 * The equation of a batch, in steps. With R_i lifted from r_i and v_i, u_i = z_i / s_i and w_i = r_i / s_i, signature i
 * is right exactly when u_i G + w_i Q_i - R_i is infinity. For random a_i the sum of a_i times these is infinity when
 * all are right, and otherwise hardly ever (README.md). Q_i is the key of a signer's entry, so signatures of one signer
 * share one multiple of it, and all share one multiple of G.
 *
 * Every phase works through the items, signers, terms or positions one unit at a time. A unit's cost is a
 * measured time, of which the lift of an R alone is 245, so that a step takes a bounded time.
 *
 * Invariants:
 *   EQUATION-1  Between steps other checks run: what a phase needs later is in memory that only batches use.
 *   EQUATION-2  A signature takes part from its lift on, or is refused there. None leaves or joins afterwards.
 */
import * as coefficient from './coefficient';
import { copy } from './element';
import { SLOT } from './field';
import * as item from './item';
import * as pairs from './pairs';
import * as point from './point';
import * as rTable from './rTable';
import { beginLift, endLift } from './recover';
import { COST_OF_LIFT, MOST_ROOTS, squareRoots } from './roots';
import { addScalars, invertScalar, multiplyScalars, scalarFromBytes } from './scalar';
import { S } from './signature';
import * as signers from './signers';
import { GENERATOR, GENERATOR_WIDTH, NEXT_GENERATOR } from './table';
import * as terms from './terms';

const LIFT = 0;
const INVERT_RATIOS = 1;
const COMPLETE_RATIOS = 2;
const INVERT_S = 3;
const WEIGH = 4;
const FIND_TABLES = 5;
const MAKE_TABLE = 6;
const SIGNER_TERMS = 7;
const SORT = 8;
const COLLECT = 9;
const INVERT_ROUND = 10;
const COMPLETE_ROUND = 11;
const DESCEND = 12;
const DECIDED = 13;
/** The cost of a unit of each phase; for each pair collected and each point added on the way down there is more. */
const COSTS = memory.data<i32>([
  COST_OF_LIFT * <i32>MOST_ROOTS, 120, pairs.COST_OF_SUM, 350, 56, 4, 1000, 34, 200, 4, 120, pairs.COST_OF_SUM, 1, 0,
]);
const COST_OF_TABLE = 5;
const COST_OF_DOUBLING = 9;
const COST_OF_ADDITION = 16;
/** A round of fewer pairs takes longer than adding them one by one. */
const LEAST_PAIRS: u32 = 16;
/** About half the time of a recovery by libsecp256k1. */
const STEP_COST = 1500;

/** The items that take part, and how many. */
const joined = memory.data(128, 16);
let joinedCount: usize = 0;
/** A sum for each signer: its entry, then the scalar of its key; and the scalar of G. */
const SUM_BYTES: usize = 16 + SLOT;
const sums = memory.data(2048, 16);
let sumCount: usize = 0;
const GENERATOR_SUM = memory.data(48, 16);

let phase = DECIDED;
/** The unit that is next, and the number of those that a phase keeps. */
let next: usize = 0;
let kept: usize = 0;
let position = 0;
let spent = 0;
let isRight: bool = false;
const LIFT_X = memory.data(192, 16);
const LIFT_Y = memory.data(192, 16);
const LIFT_CUBE = memory.data(192, 16);
const POINT = memory.data(160, 16);
const INVERSE = memory.data(48, 16);
const TOUCHED = memory.data(16);
const A = memory.data(48, 16);
const U = memory.data(48, 16);

/** Begins with no items. */
export function beginEquation(): void {
  phase = DECIDED;
  joinedCount = 0;
  sumCount = 0;
  next = 0;
  kept = 0;
}

export function join(at: usize): void {
  store<usize>(joined + 4 * joinedCount++, at);
}

export function size(): usize {
  return joinedCount;
}

export function itemOf(index: usize): usize {
  return load<usize>(joined + 4 * index);
}

/** Afterwards no item joins. */
export function beginSteps(): void {
  pairs.beginPairs();
  terms.beginTerms(terms.BATCH);
  phase = LIFT;
}

/** @returns whether the equation is decided. */
export function stepEquation(): bool {
  let left = STEP_COST;
  terms.useTerms(terms.BATCH);
  point.restorePoint(POINT);
  while (phase != DECIDED) {
    const cost = load<i32>(COSTS + 4 * <usize>phase);
    if (cost > left && left < STEP_COST) break;
    spent = cost;
    advance();
    left -= spent;
  }
  point.savePoint(POINT);
  return phase == DECIDED;
}

/** Of a decided equation: whether the signatures of all items that still take part are right. */
export function isSumInfinity(): bool {
  return isRight;
}

function advance(): void {
  if (phase == LIFT) lift();
  else if (phase == INVERT_RATIOS) invert(COMPLETE_RATIOS);
  else if (phase == COMPLETE_RATIOS) completeRatio();
  else if (phase == INVERT_S) invertS();
  else if (phase == WEIGH) weigh();
  else if (phase <= MAKE_TABLE) makeTables();
  else if (phase == SIGNER_TERMS) addSignerTerms();
  else if (phase == SORT) sort();
  else if (phase == COLLECT) collect();
  else if (phase == INVERT_ROUND) invert(COMPLETE_ROUND);
  else if (phase == COMPLETE_ROUND) completeRound();
  else descend();
}

function begin(following: i32): void {
  phase = following;
  next = 0;
}

/** The R of as many items as have their roots taken at once. */
function lift(): void {
  const count = min(MOST_ROOTS, joinedCount - next);
  for (let i: usize = 0; i < count; i++) {
    beginLift(LIFT_X + SLOT * i, LIFT_CUBE + SLOT * i, itemOf(next + i) + item.SIGNATURE);
  }
  squareRoots(LIFT_Y, LIFT_CUBE, count);
  for (let i: usize = 0; i < count; i++) {
    const at = itemOf(next++);
    if (endLift(LIFT_Y + SLOT * i, LIFT_CUBE + SLOT * i, load<i32>(at + item.BIT))) {
      keepPoint(at, LIFT_X + SLOT * i, LIFT_Y + SLOT * i);
      store<usize>(joined + 4 * kept++, at);
    } else {
      store<u32>(at + item.VERDICT, item.REFUSED);
    }
  }
  spent = COST_OF_LIFT * <i32>count;
  if (next < joinedCount) return;
  joinedCount = kept;
  if (joinedCount == 0) phase = DECIDED;
  else begin(INVERT_RATIOS);
}

/** The first entry of the table of R, and the pair whose sum is (1 - lambda) R. */
function keepPoint(at: usize, x: usize, y: usize): void {
  const table = at + item.R_TABLE;
  rTable.setEntry(table, x, y);
  const pair = pairs.addPair(
    rTable.xOf(table, 0), rTable.yOf(table, 0), rTable.xOf(table, 1), rTable.yOf(table, 1) | 1,
  );
  item.setLink(at, item.PAIR, pair);
}

function invert(following: i32): void {
  pairs.invertRound();
  begin(following);
}

/** After the last pair, the second entry of each table. */
function completeRatio(): void {
  if (pairs.completePair()) return;
  for (let i: usize = 0; i < joinedCount; i++) {
    const at = itemOf(i);
    rTable.setEntryToSum(at + item.R_TABLE + rTable.R_ENTRY, item.linkOf(at, item.PAIR));
  }
  spent += COST_OF_TABLE * <i32>joinedCount;
  begin(INVERT_S);
}

/** Inverts the product of all s, which weigh() goes through from the last. */
function invertS(): void {
  for (let i: usize = 0; i < joinedCount; i++) {
    const at = itemOf(i);
    scalarFromBytes(at + item.S_SCALAR, at + item.SIGNATURE + S);
    if (i == 0) copy(at + item.PRODUCT, at + item.S_SCALAR);
    else multiplyScalars(at + item.PRODUCT, itemOf(i - 1) + item.PRODUCT, at + item.S_SCALAR);
  }
  invertScalar(INVERSE, itemOf(joinedCount - 1) + item.PRODUCT);
  memory.fill(GENERATOR_SUM, 0, SLOT);
  begin(WEIGH);
}

/** Adds an item's a u to the scalar of G, its a w to that of its key, and the terms of -a R. */
function weigh(): void {
  const at = itemOf(joinedCount - 1 - next++);
  if (next == joinedCount) {
    copy(A, INVERSE);
  } else {
    multiplyScalars(A, INVERSE, itemOf(joinedCount - 1 - next) + item.PRODUCT);
    multiplyScalars(INVERSE, INVERSE, at + item.S_SCALAR);
  }
  const b = load<i64>(at + item.RANDOM);
  const c = load<i64>(at + item.RANDOM, 8);
  coefficient.coefficientOf(U, b, c);
  multiplyScalars(A, A, U);
  scalarFromBytes(U, at + item.SIGNATURE);
  multiplyScalars(U, U, A);
  const sum = sumOf(item.linkOf(at, item.ENTRY));
  addScalars(sum, sum, U);
  scalarFromBytes(U, at + item.DIGEST);
  multiplyScalars(U, U, A);
  addScalars(GENERATOR_SUM, GENERATOR_SUM, U);
  coefficient.subtractCoefficientTerms(b, c, at + item.R_TABLE);
  if (next == joinedCount) begin(FIND_TABLES);
}

/** The scalar of the signer's key. */
function sumOf(entry: usize): usize {
  let at = sums;
  for (let i: usize = 0; i < sumCount; i++) {
    if (load<usize>(at) == entry) return at + 16;
    at += SUM_BYTES;
  }
  sumCount++;
  store<usize>(at, entry);
  memory.fill(at + 16, 0, SLOT);
  return at + 16;
}

/** A signer without tables gets them one by one. */
function makeTables(): void {
  const entry = load<usize>(sums + SUM_BYTES * next);
  if (phase == FIND_TABLES) {
    if (!signers.hasTables(entry)) phase = MAKE_TABLE;
    else if (++next == sumCount) begin(SIGNER_TERMS);
  } else {
    signers.makeSignerTable(entry);
    phase = FIND_TABLES;
  }
}

function addSignerTerms(): void {
  const sum = sums + SUM_BYTES * next;
  const entry = load<usize>(sum);
  terms.addScalarTerms(sum + 16, false, signers.tableOf(entry), signers.NEXT_TABLE, signers.SIGNER_WIDTH);
  if (++next == sumCount) begin(SORT);
}

function sort(): void {
  terms.addScalarTerms(GENERATOR_SUM, false, GENERATOR, NEXT_GENERATOR, GENERATOR_WIDTH);
  terms.sortTerms();
  pairs.beginPairs();
  beginRound();
}

/** A last few pairs are not worth an inversion: the way down adds what terms there are. */
function beginRound(): void {
  pairs.beginRound();
  begin(COLLECT);
  if (terms.countPairs() >= LEAST_PAIRS) return;
  point.setInfinity();
  position = terms.top();
  phase = DESCEND;
}

/** Replaces the terms of a position by half as many: the sums of pairs, which are known after the round. */
function collect(): void {
  const at = <i32>next;
  const many = terms.countAt(at);
  spent += pairs.COST_OF_PAIR * <i32>(many / 2);
  const from = terms.termsAt(at);
  let to = from;
  let term = from;
  const end = from + terms.SORTED_TERM * many;
  // The processor fetches all points at once that way, before the work on the first pair.
  let touched = 0;
  for (let at = from; at < end; at += terms.SORTED_TERM) {
    touched += load<i32>(load<usize>(at)) + load<i32>(load<usize>(at, 4) & ~1);
  }
  store<i32>(TOUCHED, touched);
  for (; term + terms.SORTED_TERM < end; term += 2 * terms.SORTED_TERM) {
    const ya = load<usize>(term, 4);
    const pair = pairs.addPair(load<usize>(term), ya, load<usize>(term, 8), load<usize>(term, 12));
    if (pair == 0) continue;
    store<usize>(to, pair + pairs.SUM_X);
    store<usize>(to, pair + pairs.SUM_Y, 4);
    to += terms.SORTED_TERM;
  }
  pairs.multiplyUp();
  if (term < end) {
    store<u64>(to, load<u64>(term));
    to += terms.SORTED_TERM;
  }
  terms.setCountAt(at, <u32>((to - from) / terms.SORTED_TERM));
  if (<i32>++next <= terms.top()) return;
  // All sums may have been infinity.
  if (pairs.isEmptyRound()) beginRound();
  else begin(INVERT_ROUND);
}

function completeRound(): void {
  if (!pairs.completePair()) beginRound();
}

function descend(): void {
  spent += COST_OF_DOUBLING + COST_OF_ADDITION * <i32>terms.countAt(position);
  terms.descend(position);
  if (--position >= 0) return;
  isRight = point.isInfinity;
  phase = DECIDED;
}
