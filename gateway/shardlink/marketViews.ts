/**
 * The trading state of each market, by market index, as the events of its shard describe it. Titles and descriptions
 * are in the catalogue.
 * Owner: the gateway thread.
 */
import { assert } from '../../shared/base/assert.ts';
import { isDecided, type MarketStatus, STAGE, STAGE_NAMES, type Stage, stageAfter } from '../../shared/base/codes.ts';
import { filledMicros, MICROS_PER_MS } from '../../shared/base/fillTimes.ts';
import { bytesToUuid, UUID_BYTES } from '../../shared/base/hex.ts';
import { Signal } from '../../shared/base/signal.ts';
import { ANY_EVENT, EVENT } from '../../shared/wire/events.ts';
import { readSafe, readSigned } from '../../shared/wire/record.ts';
import { grown } from './growingColumn.ts';

const FIRST_MARKETS = 256;

type MarketView = {
  readonly shard: number;
  readonly id: string;
  readonly ticksPerUnit: number;
  status: MarketStatus;
  stage: Stage;
  feeBps: number;
  startMs: number;
  endMs: number;
  payoutYesPpm: number;
  resolvedMs: number;
  settledMs: number;
  sequence: number;
  /** The last public sequence number in the newest MARKET event; at recovery the orders of its frames come later. */
  announcedSequence: number;
  lastFillMicros: number;
};

export class MarketViews {
  /** Counts changes of any market that may affect lists: of status, stage or times, and openings. */
  listChanges = 0;
  readonly statusChanged = new Signal<{ readonly market: number; readonly status: MarketStatus }>();
  /** USDC locked for the market's tokens, by market index; 0 for an index without a market. */
  collateralMicro = new Float64Array(FIRST_MARKETS);
  /** The part of a decided market's collateral that belongs to no token, in millionths of a micro-USDC; by index. */
  roundingPpm = new Float64Array(FIRST_MARKETS);
  /** By market index: 1 + the index of the first market of its event set; 0 for a market without one. */
  setOf = new Float64Array(FIRST_MARKETS);
  /** Of event sets, by the index of their first market: their USDC beyond the collateral of their markets. */
  readonly excessMicro = new Map<number, number>();
  /** By shard: the stage in which new markets begin. */
  readonly shardStages: Stage[];
  /** By stage: the number of undecided markets in it. */
  readonly inStage: number[] = STAGE_NAMES.map(() => 0);
  /** Recovering shards that have not reported their stage. */
  readonly #unsaidStages = new Set<number>();
  readonly #markets: (MarketView | undefined)[] = [];

  constructor(shards: number) {
    this.shardStages = Array.from({ length: shards }, () => STAGE.OPEN);
  }

  /** Every market that a shard has opened has an index below this. */
  get count(): number {
    return this.#markets.length;
  }

  /** False until the market's shard has opened it. */
  has(market: number): boolean {
    return this.#markets[market] !== undefined;
  }

  /** The indices of a shard's markets. */
  ofShard(shard: number): number[] {
    return this.#markets.flatMap((view, market) => (view?.shard === shard ? [market] : []));
  }

  shard(market: number): number {
    return this.#of(market).shard;
  }

  id(market: number): string {
    return this.#of(market).id;
  }

  status(market: number): MarketStatus {
    return this.#of(market).status;
  }

  /** The stage, which decides which orders the book accepts. */
  stage(market: number): Stage {
    return this.#of(market).stage;
  }

  feeBps(market: number): number {
    return this.#of(market).feeBps;
  }

  ticksPerUnit(market: number): number {
    return this.#of(market).ticksPerUnit;
  }

  startMs(market: number): number {
    return this.#of(market).startMs;
  }

  endMs(market: number): number {
    return this.#of(market).endMs;
  }

  /** The payout of a Yes token of a decided market, in PPM; a No token pays the remainder to PPM. */
  payoutYesPpm(market: number): number {
    return this.#of(market).payoutYesPpm;
  }

  /** The time at which the market was resolved or cancelled; 0 before. */
  resolvedMs(market: number): number {
    return this.#of(market).resolvedMs;
  }

  /** The time at which every holder had been paid; 0 before. */
  settledMs(market: number): number {
    return this.#of(market).settledMs;
  }

  /** The last public sequence: the views contain the effects of every frame up to it. */
  sequence(market: number): number {
    return this.#of(market).sequence;
  }

  /** Called with the sequence of each event; 0 marks one that is not public. */
  advance(market: number, marketSequence: number): void {
    if (marketSequence === 0) return;
    const view = this.#of(market);
    if (marketSequence > view.sequence) view.sequence = marketSequence;
  }

  /** Records a fill of the market, in a record of this time (FILLTIME-1). */
  filled(market: number, recordMs: number): void {
    const view = this.#of(market);
    view.lastFillMicros = filledMicros(recordMs, view.lastFillMicros);
  }

  /** The time from its record to the last fill of the market. */
  afterMicros(market: number, recordMs: number): number {
    return this.#of(market).lastFillMicros - recordMs * MICROS_PER_MS;
  }

  /** The shard says after a recovery when the market had its last fill. */
  recoverFill(words: Uint32Array, word: number): void {
    this.#of(words[word + ANY_EVENT.market]).lastFillMicros = readSafe(words, word + EVENT.LAST_FILL.filledMicros);
  }

  /** @param isRecovering true if orders of earlier frames follow */
  apply(shard: number, isRecovering: boolean, words: Uint32Array, word: number): void {
    const market = words[word + ANY_EVENT.market];
    const { status: before, startMs, endMs } = this.#markets[market] ?? {};
    const known = this.#markets[market] ?? this.#open(shard, market, words, word);
    if (before !== undefined) this.#countStage(known, -1);
    const stageBefore = known.stage;
    known.status = words[word + EVENT.MARKET.status] as MarketStatus;
    known.stage = words[word + EVENT.MARKET.stage] as Stage;
    this.#countStage(known, 1);
    known.feeBps = words[word + EVENT.MARKET.feeBps];
    known.startMs = readSafe(words, word + EVENT.MARKET.startMs);
    known.endMs = readSafe(words, word + EVENT.MARKET.endMs);
    this.collateralMicro[market] = readSigned(words, word + EVENT.MARKET.collateralMicro);
    known.payoutYesPpm = words[word + EVENT.MARKET.payoutYesPpm];
    known.resolvedMs = readSafe(words, word + EVENT.MARKET.resolvedMs);
    known.settledMs = readSafe(words, word + EVENT.MARKET.settledMs);
    this.roundingPpm[market] = readSafe(words, word + EVENT.MARKET.roundingPpm);
    this.setOf[market] = words[word + EVENT.MARKET.set];
    known.announcedSequence = readSafe(words, word + EVENT.MARKET.lastMarketSequence);
    // The first frame of a new market has the number after this one: above a floor, if there is one.
    if (before === undefined && !isRecovering) known.sequence = known.announcedSequence;
    const hasOtherStatus = known.status !== before;
    if (known.stage !== stageBefore) this.listChanges++;
    if (hasOtherStatus || known.startMs !== startMs || known.endMs !== endMs) this.listChanges++;
    if (hasOtherStatus) this.statusChanged.notify({ market, status: known.status });
  }

  /** The excess of an event set is another one. */
  setExcess(words: Uint32Array, word: number): void {
    const first = words[word + ANY_EVENT.market];
    const excessMicro = readSigned(words, word + EVENT.SET.excessMicro);
    if (excessMicro === 0) this.excessMicro.delete(first);
    else this.excessMicro.set(first, excessMicro);
  }

  /** All markets of the shard have taken a step. */
  step(shard: number, words: Uint32Array, word: number): void {
    const to = words[word + EVENT.STAGE.stage] as Stage;
    const from = words[word + EVENT.STAGE.from];
    const before = this.shardStages[shard];
    this.#unsaidStages.delete(shard);
    // After a recovery the present stage is reported, and the markets follow.
    this.shardStages[shard] = from === to ? to : stageAfter(before, from, to);
    for (const market of this.#markets) {
      if (market?.shard !== shard) continue;
      this.#countStage(market, -1);
      market.stage = stageAfter(market.stage, from, to);
      this.#countStage(market, 1);
    }
    this.listChanges++;
  }

  /** The public frames of the shard's markets continue above a floor. */
  raise(shard: number, floor: number): void {
    for (const [index, market] of this.#markets.entries()) if (market?.shard === shard) this.advance(index, floor);
  }

  /** The shard sends its whole state again, its stage too if that is not OPEN (VIEWS-3). */
  recovering(shard: number): void {
    this.#unsaidStages.add(shard);
  }

  recovered(shard: number): void {
    if (this.#unsaidStages.delete(shard)) this.shardStages[shard] = STAGE.OPEN;
  }

  /** Called when the views hold all orders of a shard that has recovered. */
  catchUp(market: number): void {
    this.advance(market, this.#of(market).announcedSequence);
  }

  #countStage({ stage, status }: MarketView, by: 1 | -1): void {
    if (!isDecided(status)) this.inStage[stage] += by;
  }

  #of(market: number): MarketView {
    const view = this.#markets[market];
    assert(view !== undefined, 'markets view: a market is opened by its shard before it is read');
    return view;
  }

  #open(shard: number, market: number, words: Uint32Array, word: number): MarketView {
    while (this.#markets.length < market) this.#markets.push(undefined);
    this.collateralMicro = grown(this.collateralMicro, market + 1);
    this.roundingPpm = grown(this.roundingPpm, market + 1);
    this.setOf = grown(this.setOf, market + 1);
    const uuid = new Uint8Array(UUID_BYTES);
    new Uint32Array(uuid.buffer).set(
      words.subarray(word + EVENT.MARKET.uuid, word + EVENT.MARKET.uuid + UUID_BYTES / 4),
    );
    const view: MarketView = {
      shard,
      id: bytesToUuid(uuid),
      ticksPerUnit: words[word + EVENT.MARKET.ticksPerUnit],
      status: 0,
      stage: STAGE.OPEN,
      feeBps: 0,
      startMs: 0,
      endMs: 0,
      payoutYesPpm: 0,
      resolvedMs: 0,
      settledMs: 0,
      sequence: 0,
      announcedSequence: 0,
      lastFillMicros: 0,
    };
    this.#markets[market] = view;
    return view;
  }
}
