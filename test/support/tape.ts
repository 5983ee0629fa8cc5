/** Made-up trading in journals, with the trades that a client would have seen: for tests that compute from the tape. */
import { join } from 'node:path';
import { Projector } from '../../engine/projector/projector.ts';
import { MATCH_TYPE, type Outcome, SIDE } from '../../shared/base/codes.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { temporaryDirectory } from './directory.ts';
import { TEST_KEY } from './journalKey.ts';
import type { Random } from './random.ts';
import { JournalScript } from './records.ts';

/** `micros`: its time (RULES.md 13.12). */
export type TapeFill = { micros: number; yesTicks: number; lots: number; takerOutcome: Outcome };
/** The ticks of a USDC in each market. */
export const TAPE_MARKETS = [100, 400, 10];
/** A sweep with this many fills takes more than a millisecond of their times. */
const SWEEP = 1100;
/** After this many, trades come faster, so that all of them take about ten days. */
const PACED_TRADES = 4000;

/** A journal of fills at random prices, and the list of them that a test computes from. */
export class Tape {
  readonly directory = temporaryDirectory();
  readonly readDbPath = join(this.directory, 'read.db');
  readonly script = new JournalScript(join(this.directory, 'journal-0.db'));
  readonly fills: TapeFill[][] = TAPE_MARKETS.map(() => []);
  readonly #progress = Progress.create(1);
  readonly #random: Random;
  timeMs: number;

  constructor(random: Random, startMs: number) {
    this.#random = random;
    this.timeMs = startMs;
    this.script.record(this.timeMs, (events) => {
      for (const [market, ticks] of TAPE_MARKETS.entries()) events.market(market, tapeUuid(market), ticks);
    });
  }

  /** An order of a maker that a taker fills in this many parts: bought and sold, minted or merged. */
  trade(market: number, parts: number): void {
    const random = this.#random;
    const ticks = TAPE_MARKETS[market]!;
    const matchType = [MATCH_TYPE.STANDARD, MATCH_TYPE.MINT, MATCH_TYPE.MERGE][random.below(3)]!;
    const side =
      matchType === MATCH_TYPE.STANDARD ? random.below(2) : matchType === MATCH_TYPE.MINT ? SIDE.BUY : SIDE.SELL;
    const takerOutcome = random.below(2) as Outcome;
    const isStandard = matchType === MATCH_TYPE.STANDARD;
    const makerOutcome = isStandard ? takerOutcome : 1 - takerOutcome;
    const lots = 10_000 * random.between(1, 50);
    this.script.add(this.timeMs, (events) => {
      const terms = { market, limitTicks: 1, lots: lots * parts };
      events.order({ ...terms, slot: 0, account: 1, outcome: makerOutcome, side: isStandard ? 1 - side : side });
      events.order({ ...terms, slot: 1, account: 2, outcome: takerOutcome, side });
      for (let part = 0; part < parts; part++) {
        const yesTicks = random.between(1, ticks - 1);
        events.fill({ maker: 0, taker: 1, yesTicks, lots, matchType });
        const last = this.fills[market]!.at(-1)?.micros ?? 0;
        this.fills[market]!.push({ micros: Math.max(this.timeMs * 1000, last + 1), yesTicks, lots, takerOutcome });
      }
      events.filled(0);
      events.filled(1);
    });
  }

  /** Follows the journal, by another projector each time. */
  project(): void {
    this.script.journal.commit();
    const { directory, readDbPath } = this;
    const options = { journalPaths: [join(directory, 'journal-0.db')], keys: [TEST_KEY], readDbPath };
    const projector = new Projector({ ...options, progress: this.#progress });
    new Progress(this.#progress).setCommitted(0, this.committed);
    while (projector.step(true));
    projector.close();
  }

  get committed(): number {
    return this.script.journal.lastSequence;
  }
}

export function tapeUuid(market: number): string {
  return `${String(market).repeat(8)}-1111-4111-8111-111111111111`;
}

/**
 * @param trades single trades and sweeps, some over the end of an hour
 * @param act called each time the read model has all of them
 */
export function randomTape(tape: Tape, random: Random, trades: number, act: () => void = () => {}): void {
  const pace = Math.min(1, PACED_TRADES / trades);
  for (let n = 0; n < trades; n++) {
    const pause = random.below(20);
    if (pause > 0) tape.timeMs += Math.floor(random.below(pause === 1 ? 8_000_000 : 60_000) * pace);
    if (n % 1000 === 500) tape.timeMs = Math.ceil(tape.timeMs / 3_600_000) * 3_600_000 - 1;
    const isSweep = n < 3000 && n % 1000 === 500;
    tape.trade(random.below(TAPE_MARKETS.length), isSweep ? SWEEP : random.below(8) === 0 ? 5 : 1);
    if (random.below(Math.ceil(trades / 20)) > 0) continue;
    tape.project();
    act();
  }
  tape.project();
}
