/**
 * The engine as a subject of the matching bench: the object the shard thread runs, from command to events, with all on
 * that needs no key: duplicate lookup, grid, minimum, collateral, matching, fees, state digest, events and replies. It
 * leaves out the order hash, the signature and the journal, which have benches of their own.
 */
import { Engine } from '../engine/engine.ts';
import type { JournalStore } from '../engine/journal.ts';
import type { Verifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/assert.ts';
import { Balances, createBalances } from '../shared/balances.ts';
import { OrderHasher } from '../shared/eip712.ts';
import { OK } from '../shared/errors.ts';
import * as ev from '../shared/events.ts';
import { type RecordBuffer, readSafe } from '../shared/record.ts';
import { type CommandTape, idOfHash, setUpTape, TAPE_LOTS } from './commandTape.ts';
import type { Run } from './matchingThread.ts';
import { foldTrade, type Totals } from './workload.ts';

/** The tape's hashes stand for digests. */
export class GivenHash extends OrderHasher {
  override digest(): void {}
}
const acceptAll: Verifier = { name: 'native', verify: () => true };
const noJournal: Pick<JournalStore, 'append'> = { append: () => {} };

/** Takes commands at once: all that needs a key or a file is left out. */
export function newEngine(journal = noJournal): Engine {
  const engine = new Engine({
    balances: new Balances(createBalances()),
    collateralCheck: true,
    hasher: new GivenHash(),
    verifier: acceptAll,
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

  /** What the shard does after a commit: credits become visible, and the events are away. */
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
      const type = ev.typeOf(out[word + ev.EV_TYPE]);
      if (type === ev.EVENT.REPLY) assert(out[word + ev.EV_FLAGS] === OK, 'matching: no command is refused');
      else if (type === ev.EVENT.ORDER) idOfSlot[out[word + ev.EV_SLOT]] = idOfHash(out, word + ev.ORDER_HASH);
      else if (type === ev.EVENT.FILL) {
        const lots = readSafe(out, word + ev.FILL_LOTS) / TAPE_LOTS;
        trades++;
        tradedLots += lots;
        checksum = foldTrade(checksum, idOfSlot[out[word + ev.EV_SLOT]], lots, out[word + ev.FILL_YES_TICKS]);
      }
    }
    run.endBatch();
  }
  assert(trades === totals.trades && tradedLots === totals.tradedLots, 'matching: the known trades and lots');
  assert(checksum === totals.checksum, 'matching: every trade has the known maker, lots and price');
  run.check(totals);
}
