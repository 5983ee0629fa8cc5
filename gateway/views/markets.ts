/**
 * How each market stands, by market index: the trading state that the shards own. What a market is called and what it
 * is about is in the catalogue.
 * Owner: the gateway thread.
 */
import { assert } from '../../shared/assert.ts';
import type { MarketStatus } from '../../shared/codes.ts';
import {
  EV_FLAGS,
  EV_MARKET,
  MARKET_COLLATERAL,
  MARKET_END_MS,
  MARKET_FEE_BPS,
  MARKET_LAST_SEQUENCE,
  MARKET_PAYOUT_YES_PPM,
  MARKET_RESOLVED_MS,
  MARKET_ROUNDING_PPM,
  MARKET_SETTLED_MS,
  MARKET_START_MS,
  MARKET_TICKS_PER_UNIT,
  MARKET_UUID,
} from '../../shared/events.ts';
import { bytesToUuid, UUID_BYTES } from '../../shared/hex.ts';
import { readSafe, readSigned } from '../../shared/record.ts';

type MarketView = {
  readonly shard: number;
  readonly id: string;
  readonly ticksPerUnit: number;
  status: MarketStatus;
  feeBps: number;
  startMs: number;
  endMs: number;
  collateralMicro: number;
  payoutYesPpm: number;
  resolvedMs: number;
  settledMs: number;
  roundingPpm: number;
  sequence: number;
  /** The last public sequence as its shard has told it, which the views may not have come to yet. */
  toldSequence: number;
};

export class MarketViews {
  /** Told when the status of a market becomes another one. */
  onStatus: (market: number, status: MarketStatus) => void = () => {};
  readonly #markets: (MarketView | undefined)[] = [];

  /** Market indices any shard has told of are below this. */
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

  /** USDC locked behind the market's tokens; 0 for a number that no market has. */
  collateralMicro(market: number): number {
    return this.#markets[market]?.collateralMicro ?? 0;
  }

  /** What a Yes token of a decided market pays, of PPM; a No token pays the rest. */
  payoutYesPpm(market: number): number {
    return this.#of(market).payoutYesPpm;
  }

  /** When it was resolved or cancelled; 0 before. */
  resolvedMs(market: number): number {
    return this.#of(market).resolvedMs;
  }

  /** When every holder was paid; 0 before. */
  settledMs(market: number): number {
    return this.#of(market).settledMs;
  }

  /** Millionths of a micro-USDC in the collateral of a decided market that no token is worth. */
  roundingPpm(market: number): number {
    return this.#of(market).roundingPpm;
  }

  /** The last public sequence: what the views show contains every frame up to it. */
  sequence(market: number): number {
    return this.#of(market).sequence;
  }

  /** A public event moves the sequence; 0 marks one that is not public. */
  advance(market: number, marketSequence: number): void {
    if (marketSequence === 0) return;
    const view = this.#of(market);
    if (marketSequence > view.sequence) view.sequence = marketSequence;
  }

  apply(shard: number, words: Uint32Array, word: number): void {
    const market = words[word + EV_MARKET]!;
    const before = this.#markets[market]?.status;
    const known = this.#markets[market] ?? this.#open(shard, market, words, word);
    known.status = words[word + EV_FLAGS]! as MarketStatus;
    known.feeBps = words[word + MARKET_FEE_BPS]!;
    known.startMs = readSafe(words, word + MARKET_START_MS);
    known.endMs = readSafe(words, word + MARKET_END_MS);
    known.collateralMicro = readSigned(words, word + MARKET_COLLATERAL);
    known.payoutYesPpm = words[word + MARKET_PAYOUT_YES_PPM]!;
    known.resolvedMs = readSafe(words, word + MARKET_RESOLVED_MS);
    known.settledMs = readSafe(words, word + MARKET_SETTLED_MS);
    known.roundingPpm = readSafe(words, word + MARKET_ROUNDING_PPM);
    known.toldSequence = readSafe(words, word + MARKET_LAST_SEQUENCE);
    if (known.status !== before) this.onStatus(market, known.status);
  }

  /** The views show the market as its shard has told it: a shard that recovers tells its sequence before its orders. */
  catchUp(market: number): void {
    this.advance(market, this.#of(market).toldSequence);
  }

  #of(market: number): MarketView {
    const view = this.#markets[market];
    assert(view !== undefined, 'markets: a market is told of before it is asked for');
    return view;
  }

  #open(shard: number, market: number, words: Uint32Array, word: number): MarketView {
    while (this.#markets.length < market) this.#markets.push(undefined);
    const uuid = new Uint8Array(UUID_BYTES);
    new Uint32Array(uuid.buffer).set(words.subarray(word + MARKET_UUID, word + MARKET_UUID + UUID_BYTES / 4));
    const view: MarketView = {
      shard,
      id: bytesToUuid(uuid),
      ticksPerUnit: words[word + MARKET_TICKS_PER_UNIT]!,
      status: 0,
      feeBps: 0,
      startMs: 0,
      endMs: 0,
      collateralMicro: 0,
      payoutYesPpm: 0,
      resolvedMs: 0,
      settledMs: 0,
      roundingPpm: 0,
      sequence: 0,
      toldSequence: 0,
    };
    this.#markets[market] = view;
    return view;
  }
}
