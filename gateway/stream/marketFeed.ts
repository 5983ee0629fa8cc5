/**
 * The public side of the stream: turns the shards' events into frames of the markets' channels.
 * Owner: the gateway thread, inside the pump, right after the views have applied an event.
 */
import { assert, unreachable } from '../../shared/base/assert.ts';
import { ANY_EVENT, closeReasonAt, EVENT, typeOf } from '../../shared/wire/events.ts';
import { readSafe } from '../../shared/wire/record.ts';
import type { OpenOrders } from '../shardlink/orderViews.ts';
import type { RecordResult } from '../shardlink/recordResult.ts';
import type { Views } from '../shardlink/views.ts';
import { closeKind, MarketChannel } from './marketChannel.ts';
import { RECORD_KIND } from './marketRecord.ts';

export class MarketFeed {
  readonly #views: Views;
  /** By market index; made at a market's first frame or subscriber. */
  readonly #channels: (MarketChannel | undefined)[] = [];
  /** Channels with frames in this batch. */
  readonly #touched = new Set<MarketChannel>();

  constructor(views: Views) {
    this.#views = views;
  }

  applied(shard: number, { timeMs }: RecordResult, words: Uint32Array, word: number): void {
    const sequence = readSafe(words, word + ANY_EVENT.marketSequence);
    if (sequence === 0) return;
    const slot = words[word + ANY_EVENT.slot];
    const orders = this.#views.orders[shard];
    const remainingLots = orders.remainingLots[slot];
    const channel = this.#touch(words[word + ANY_EVENT.market], sequence);
    switch (typeOf(words[word + ANY_EVENT.type])) {
      case EVENT.REST.TYPE:
        channel.delta(RECORD_KIND.OPEN, sequence, timeMs, orders, slot, remainingLots, remainingLots);
        break;
      case EVENT.WOKEN.TYPE:
        channel.delta(RECORD_KIND.WAKE, sequence, timeMs, orders, slot, remainingLots, remainingLots);
        break;
      case EVENT.DORMANT.TYPE:
        channel.delta(RECORD_KIND.DORMANT, sequence, timeMs, orders, slot, remainingLots, 0);
        break;
      case EVENT.CLOSED.TYPE: {
        const kind = closeKind(closeReasonAt(words, word));
        channel.delta(kind, sequence, timeMs, orders, slot, remainingLots, 0);
        break;
      }
      case EVENT.FILL.TYPE:
        publishFill(
          channel,
          timeMs,
          this.#views.markets.afterMicros(channel.market.index, timeMs),
          orders,
          words,
          word,
        );
        break;
      default:
        unreachable('market feed: an event with a public sequence is one of these');
    }
  }

  /** CHANNEL-3. The views show what the shard has recovered. */
  recovered(shard: number, nowMs: number): void {
    for (const channel of this.#channels) {
      if (channel?.market.shard !== shard) continue;
      channel.recovered(this.#views.markets.sequence(channel.market.index), nowMs);
      this.#touched.add(channel);
    }
  }

  flush(): void {
    for (const channel of this.#touched) {
      const sequence = this.#views.markets.sequence(channel.market.index);
      assert(channel.log.last === sequence, 'CHANNEL-1: the log ends with the last frame of the views');
      channel.flush();
    }
    this.#touched.clear();
  }

  /** The channel of a market that its shard has opened. Called between two batches. */
  channel(market: number): MarketChannel {
    return this.#channels[market] ?? this.#open(market, this.#views.markets.sequence(market));
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

/** A fill is two frames: the trade, then the delta of the maker's level, which has the next sequence. */
function publishFill(
  channel: MarketChannel,
  timeMs: number,
  afterMicros: number,
  orders: OpenOrders,
  words: Uint32Array,
  word: number,
): void {
  const sequence = readSafe(words, word + ANY_EVENT.marketSequence);
  const lots = readSafe(words, word + EVENT.FILL.lots);
  channel.trade(
    sequence,
    timeMs,
    afterMicros,
    readSafe(words, word + EVENT.FILL.tradeSequence),
    orders.kind[words[word + EVENT.FILL.takerSlot]],
    words[word + EVENT.FILL.matchType],
    words[word + EVENT.FILL.yesTicks],
    lots,
  );
  const remainingLots = readSafe(words, word + EVENT.FILL.makerRemainingLots);
  channel.delta(RECORD_KIND.FILL, sequence + 1, timeMs, orders, words[word + ANY_EVENT.slot], lots, remainingLots);
}
