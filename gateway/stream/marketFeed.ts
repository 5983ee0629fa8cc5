/**
 * The public side of the stream: what the shards' events mean for each market's channel.
 * Owner: the gateway thread, inside the pump, right after the views have applied an event.
 */
import type { CloseReason } from '../../shared/codes.ts';
import * as ev from '../../shared/events.ts';
import { readSafe } from '../../shared/record.ts';
import type { Views } from '../views/index.ts';
import { closeKind, MarketChannel } from './marketChannel.ts';
import { RECORD_KIND, type RecordKind } from './marketRecord.ts';

export class MarketFeed {
  readonly #views: Views;
  /** By market index; made at a market's first frame or subscriber. */
  readonly #channels: (MarketChannel | undefined)[] = [];
  /** Those with frames in this batch. */
  readonly #touched = new Set<MarketChannel>();

  constructor(views: Views) {
    this.#views = views;
  }

  applied(shard: number, words: Uint32Array, word: number): void {
    const sequence = readSafe(words, word + ev.EV_MARKET_SEQUENCE);
    if (sequence === 0) return;
    const slot = words[word + ev.EV_SLOT]!;
    const remainingLots = this.#views.orders[shard]!.remainingLots[slot]!;
    switch (ev.typeOf(words[word + ev.EV_TYPE]!)) {
      case ev.EVENT.REST:
        this.#delta(RECORD_KIND.OPEN, shard, words, word, remainingLots, remainingLots);
        break;
      case ev.EVENT.WOKEN:
        this.#delta(RECORD_KIND.WAKE, shard, words, word, remainingLots, remainingLots);
        break;
      case ev.EVENT.DORMANT:
        this.#delta(RECORD_KIND.DORMANT, shard, words, word, remainingLots, 0);
        break;
      case ev.EVENT.CLOSED: {
        const kind = closeKind(words[word + ev.EV_FLAGS]! as CloseReason);
        this.#delta(kind, shard, words, word, remainingLots, 0);
        break;
      }
      case ev.EVENT.FILL:
        this.#fill(shard, words, word);
        break;
      default:
    }
  }

  /** M3. The views show what the shard has told. */
  recovered(shard: number, nowMs: number): void {
    for (const channel of this.#channels) {
      if (channel?.market.shard !== shard) continue;
      channel.retold(this.#views.markets.sequence(channel.market.index), nowMs);
      this.#touched.add(channel);
    }
  }

  flush(): void {
    for (const channel of this.#touched) channel.flush();
    this.#touched.clear();
  }

  /** Between two batches; the shard has opened the market. */
  channel(market: number): MarketChannel {
    return this.#channels[market] ?? this.#open(market, this.#views.markets.sequence(market));
  }

  #delta(
    kind: RecordKind,
    shard: number,
    words: Uint32Array,
    word: number,
    lots: number,
    remainingLots: number,
    sequence = readSafe(words, word + ev.EV_MARKET_SEQUENCE),
  ): void {
    const timeMs = this.#views.outcomes[shard]!.timeMs;
    const slot = words[word + ev.EV_SLOT]!;
    const channel = this.#touch(words[word + ev.EV_MARKET]!, sequence);
    channel.delta(kind, sequence, timeMs, this.#views.orders[shard]!, slot, lots, remainingLots);
  }

  /** Two frames: the trade, then what it did to the maker's level. */
  #fill(shard: number, words: Uint32Array, word: number): void {
    const sequence = readSafe(words, word + ev.EV_MARKET_SEQUENCE);
    const timeMs = this.#views.outcomes[shard]!.timeMs;
    const lots = readSafe(words, word + ev.FILL_LOTS);
    this.#touch(words[word + ev.EV_MARKET]!, sequence).trade(
      sequence,
      timeMs,
      readSafe(words, word + ev.FILL_TRADE_SEQUENCE),
      this.#views.orders[shard]!.kind[words[word + ev.FILL_TAKER_SLOT]!]!,
      words[word + ev.EV_FLAGS]!,
      words[word + ev.FILL_YES_TICKS]!,
      lots,
    );
    const remainingLots = readSafe(words, word + ev.FILL_MAKER_REMAINING_LOTS);
    this.#delta(RECORD_KIND.FILL, shard, words, word, lots, remainingLots, sequence + 1);
  }

  #touch(market: number, sequence: number): MarketChannel {
    const channel = this.#channels[market] ?? this.#open(market, sequence - 1);
    this.#touched.add(channel);
    return channel;
  }

  #open(index: number, sequence: number): MarketChannel {
    const { books, markets } = this.#views;
    while (this.#channels.length < index) this.#channels.push(undefined);
    const market = {
      index,
      id: markets.id(index),
      shard: markets.shard(index),
      ticksPerUnit: markets.ticksPerUnit(index),
    };
    const channel = new MarketChannel(market, sequence, () => books.of(index));
    this.#channels[index] = channel;
    return channel;
  }
}
