/**
 * The engine over many markets and with many resting orders, as a subject of the matching bench: the cost of a command
 * when little of its data is in the processor's caches. One engine is set up once; every run continues where the one
 * before it ended, with new orders.
 *
 * A turn is six commands in a random market, and leaves the number of resting orders unchanged: a bid and an ask inside
 * the spread, a sale that fills the bid, a cancel of the ask, a cancel of one of all resting orders, and a new order in
 * its stead.
 */
import { assert } from '../shared/base/assert.ts';
import { SIDE, TIME_IN_FORCE } from '../shared/base/codes.ts';
import { COMMAND } from '../shared/wire/commands.ts';
import { seededRandom } from '../test/support/random.ts';
import { CommandTape, encodeCancel, encodePlace, setUpTape, TAPE_ACCOUNTS } from './commandTape.ts';
import { newEngine } from './matchingEngine.ts';
import type { Run } from './matchingRun.ts';

export type Scale = { readonly markets: number; readonly resting: number };

export const SCALES: readonly Scale[] = [
  { markets: 1, resting: 0 },
  { markets: 100, resting: 0 },
  { markets: 10_000, resting: 0 },
  { markets: 1, resting: 10_000 },
  { markets: 1, resting: 100_000 },
  { markets: 1, resting: 1_000_000 },
  { markets: 10_000, resting: 1_000_000 },
];

const COMMANDS_A_TURN = 6;
const TURNS = 25_000;
const CHUNK_ORDERS = 1024;
const BID_TICK = 49;
const ASK_TICK = 51;
/** Resting orders are outside the prices of the turns, on this many ticks of each side. */
const RESTING_TICKS = 40;

export class ScaledEngine {
  readonly #engine = newEngine();
  readonly #random = seededRandom(42);
  readonly #markets: number;
  /** The resting order at each position; the position determines market, side and tick. */
  readonly #resting: Int32Array;
  #nextId = 0;

  constructor({ markets, resting }: Scale) {
    this.#markets = markets;
    this.#resting = new Int32Array(resting);
    this.#runAll(setUpTape(markets));
    for (let from = 0; from < resting; from += CHUNK_ORDERS) {
      const tape = newTape(CHUNK_ORDERS);
      for (let position = from; position < Math.min(resting, from + CHUNK_ORDERS); position++)
        this.#restAt(tape, position);
      this.#runAll(tape);
    }
  }

  /** The next part of the stream: encoded now, run by the caller. */
  next(): Run {
    const engine = this.#engine;
    const tape = newTape(TURNS * COMMANDS_A_TURN);
    for (let turn = 0; turn < TURNS; turn++) this.#turn(tape);
    const { buffer, starts, count } = tape;
    const before = engine.sequence;
    return {
      count,
      step: (index) => engine.submit(buffer.words, buffer.bytes, starts[index]),
      endBatch: () => this.#endBatch(),
      check: () => {
        assert(engine.sequence === before + count, 'matching: no command is refused');
        assert(engine.state.orders.openCount === this.#resting.length, 'matching: the known orders are left');
      },
    };
  }

  #turn(tape: CommandTape): void {
    const market = Math.floor(this.#random() * this.#markets);
    const bid = this.#place(tape, market, SIDE.BUY, BID_TICK, TIME_IN_FORCE.GTC);
    const ask = this.#place(tape, market, SIDE.SELL, ASK_TICK, TIME_IN_FORCE.GTC);
    assert(ask === bid + 1, 'matching: ids are counted');
    this.#place(tape, market, SIDE.SELL, BID_TICK, TIME_IN_FORCE.FAK);
    encodeCancel(tape, accountOf(ask), market, ask);
    if (this.#resting.length === 0) {
      const again = this.#place(tape, market, SIDE.BUY, BID_TICK, TIME_IN_FORCE.GTC);
      encodeCancel(tape, accountOf(again), market, again);
      return;
    }
    const position = Math.floor(this.#random() * this.#resting.length);
    const old = this.#resting[position];
    encodeCancel(tape, accountOf(old), position % this.#markets, old);
    this.#restAt(tape, position);
  }

  #restAt(tape: CommandTape, position: number): void {
    const turn = Math.floor(position / this.#markets);
    const distance = 1 + (Math.floor(turn / 2) % RESTING_TICKS);
    const isBid = turn % 2 === 0;
    const tick = isBid ? BID_TICK - distance : ASK_TICK + distance;
    const side = isBid ? SIDE.BUY : SIDE.SELL;
    this.#resting[position] = this.#place(tape, position % this.#markets, side, tick, TIME_IN_FORCE.GTC);
  }

  #place(tape: CommandTape, market: number, side: number, tick: number, timeInForce: number): number {
    const id = this.#nextId++;
    encodePlace(tape, accountOf(id), market, id, side, tick, 1, timeInForce);
    return id;
  }

  #runAll(tape: CommandTape): void {
    const before = this.#engine.sequence;
    for (let index = 0; index < tape.count; index++) {
      this.#engine.submit(tape.buffer.words, tape.buffer.bytes, tape.starts[index]);
    }
    assert(this.#engine.sequence === before + tape.count, 'matching: no command of the set-up is refused');
    this.#endBatch();
  }

  #endBatch(): void {
    this.#engine.state.ledger.releaseCredits();
    this.#engine.out.clear();
  }
}

function newTape(commands: number): CommandTape {
  return new CommandTape(commands * COMMAND.PLACE.BYTES, commands);
}

function accountOf(id: number): number {
  return 1 + (id % TAPE_ACCOUNTS);
}
