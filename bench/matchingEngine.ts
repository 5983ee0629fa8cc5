/**
 * The engine as a subject of the matching bench: the object that the shard thread runs, from command to events, with
 * everything that needs no key: duplicate lookup, grid, minimum size, collateral, matching, fees, state digest, events
 * and replies. Order hash, signature and journal are left out; they have benches of their own.
 */
import '../engine/base/inlining.ts';
import { Engine } from '../engine/core/engine.ts';
import type { JournalStore } from '../engine/journal/journalStore.ts';
import type { OrderChecks } from '../engine/verify/orderChecks.ts';
import { assert } from '../shared/base/assert.ts';
import { OK } from '../shared/base/errors.ts';
import { Balances, createBalances } from '../shared/wire/balances.ts';
import { ANY_EVENT, EVENT, typeOf } from '../shared/wire/events.ts';
import { type RecordBuffer, readSafe } from '../shared/wire/record.ts';
import { type CommandTape, idOfHash, setUpTape, TAPE_LOTS } from './commandTape.ts';
import type { Run } from './matchingRun.ts';
import { foldTrade, type Totals } from './workload.ts';

/** Orders bring their hashes along, and all of them count as signed. */
export const GIVEN: OrderChecks = {
  writeHash: () => undefined,
  isSigned: () => true,
  isFor: () => true,
  setDomain: () => undefined,
};
const noJournal: Pick<JournalStore, 'append'> = { append: () => {} };

/** An engine without signatures and without a journal. */
export function newEngine(journal = noJournal): Engine {
  const engine = new Engine({
    balances: new Balances(createBalances()),
    collateralCheck: true,
    checks: GIVEN,
    journal,
  });
  engine.goLive();
  return engine;
}

export class EngineRun implements Run {
  readonly count: number;
  readonly #tape: CommandTape;
  readonly #engine: Engine;

  constructor(tape: CommandTape, journal = noJournal) {
    this.#tape = tape;
    this.count = tape.count;
    this.#engine = newEngine(journal);
    const setUp = setUpTape();
    for (let i = 0; i < setUp.count; i++) this.#engine.submit(setUp.buffer.words, setUp.buffer.bytes, setUp.starts[i]);
    this.endBatch();
  }

  /** Events since the last batch ended. */
  get out(): RecordBuffer {
    return this.#engine.out;
  }

  step(index: number): void {
    const { buffer, starts } = this.#tape;
    this.#engine.submit(buffer.words, buffer.bytes, starts[index]);
  }

  /** The shard's work after a commit: credits become visible, and the events are published. */
  endBatch(): void {
    this.#engine.state.ledger.releaseCredits();
    this.#engine.state.digest.catchUp();
    this.#engine.out.clear();
  }

  check(totals: Totals): void {
    assert(this.#engine.state.orders.openCount === totals.live, 'matching: the known orders are left');
  }
}

/** Runs the tape and reads every event: no refusal, the known totals, the known trades in the known order. */
export function checkEvents(tape: CommandTape, totals: Totals): void {
  const run = new EngineRun(tape);
  const idOfSlot: number[] = [];
  let trades = 0;
  let tradedLots = 0;
  let checksum = 0;
  for (let index = 0; index < run.count; index++) {
    run.step(index);
    const { words: out, lengthBytes } = run.out;
    for (let word = 0; word < lengthBytes / 4; word += out[word] / 4) {
      const type = typeOf(out[word + ANY_EVENT.type]);
      if (type === EVENT.REPLY.TYPE) assert(out[word + EVENT.REPLY.code] === OK, 'matching: no command is refused');
      else if (type === EVENT.ORDER.TYPE) idOfSlot[out[word + ANY_EVENT.slot]] = idOfHash(out, word + EVENT.ORDER.hash);
      else if (type === EVENT.FILL.TYPE) {
        const lots = readSafe(out, word + EVENT.FILL.lots) / TAPE_LOTS;
        trades++;
        tradedLots += lots;
        checksum = foldTrade(checksum, idOfSlot[out[word + ANY_EVENT.slot]], lots, out[word + EVENT.FILL.yesTicks]);
      }
    }
    run.endBatch();
  }
  assert(trades === totals.trades && tradedLots === totals.tradedLots, 'matching: the known trades and lots');
  assert(checksum === totals.checksum, 'matching: every trade has the known maker, lots and price');
  run.check(totals);
}
