/**
 * The channel `market`: books, their changes, and trades of the tokens that a reader names. Each market is one verified
 * book of the stream of the exchange, however many read it.
 *
 * Invariant:
 *   POLYMARKET-1  A reader gets a token's whole book first, and again whenever changes of it were missed; every change
 *                 in between is sent once, in order.
 */

import { formatUnits } from '../../../shared/client/amounts.ts';
import type { BookEvent, BookStream } from '../../../shared/client/stream/bookStream.ts';
import type { ExchangeStream } from '../../../shared/client/stream/exchangeStream.ts';
import type { DeltaFrame, TradeFrame } from '../../../shared/client/stream/frames.ts';
import { bookJson, ofOutcome, otherPrice, priceText, spreadOf } from './bookJson.ts';
import type { Catalogue, Listed, Outcome, Token } from './catalogue.ts';
import type { MarketNews } from './marketNews.ts';
import { listOf, Refusal } from './reply.ts';
import type { Channel, Reader } from './sockets.ts';

const MOST_TOKENS = 500;
const MOST_BOOKS = 400;
const OUTCOMES: readonly Outcome[] = [0, 1];

type Topic = {
  readonly listed: Listed;
  readonly book: BookStream;
  readonly readers: Map<Reader, Set<Outcome>>;
  /** The last price of Yes. */
  last: string | null;
  /** The best prices, as they were last sent. */
  best: string;
};

export class MarketChannel implements Channel {
  readonly #catalogue: Catalogue;
  readonly #stream: ExchangeStream;
  readonly #topics = new Map<string, Topic>();
  readonly #counts = new Map<Reader, number>();
  readonly #news: MarketNews;

  constructor(catalogue: Catalogue, stream: ExchangeStream, news: MarketNews) {
    this.#catalogue = catalogue;
    this.#stream = stream;
    this.#news = news;
  }

  async received(reader: Reader, message: Readonly<Record<string, unknown>>): Promise<void> {
    const ids = listOf(message['assets_ids'] ?? message['asset_ids'], MOST_TOKENS);
    const isLeaving = message['operation'] === 'unsubscribe';
    this.#counts.set(reader, this.#counts.get(reader) ?? 0);
    this.#news.asked(reader, message['custom_feature_enabled']);
    for (const id of ids) {
      if (typeof id !== 'string') throw new Refusal(400, 'assets_ids: expected ids of tokens');
      const token = await this.#catalogue.token(id);
      // The socket may have closed in the meantime.
      if (!this.#counts.has(reader)) return;
      if (isLeaving) this.#leave(reader, token);
      else this.#join(reader, token);
    }
  }

  left(reader: Reader): void {
    this.#counts.delete(reader);
    this.#news.left(reader);
    for (const topic of [...this.#topics.values()]) {
      topic.readers.delete(reader);
      this.#closeUnread(topic);
    }
  }

  #join(reader: Reader, token: Token): void {
    const { listed, outcome } = token;
    const topic = this.#topics.get(listed.market.id) ?? this.#open(listed);
    const outcomes = topic.readers.get(reader) ?? new Set();
    if (outcomes.has(outcome)) return;
    const count = (this.#counts.get(reader) ?? 0) + 1;
    if (count > MOST_TOKENS) throw new Refusal(400, `a socket has at most ${MOST_TOKENS} tokens`);
    this.#counts.set(reader, count);
    topic.readers.set(reader, outcomes.add(outcome));
    // POLYMARKET-1. The book of a topic that is new comes with its first event.
    if (topic.book.sequence !== null) reader.send([bookMessage(topic, outcome)]);
  }

  #leave(reader: Reader, { listed, outcome }: Token): void {
    const topic = this.#topics.get(listed.market.id);
    const outcomes = topic?.readers.get(reader);
    if (topic === undefined || outcomes === undefined || !outcomes.delete(outcome)) return;
    this.#counts.set(reader, this.#counts.get(reader)! - 1);
    if (outcomes.size === 0) topic.readers.delete(reader);
    this.#closeUnread(topic);
  }

  #open(listed: Listed): Topic {
    if (this.#topics.size >= MOST_BOOKS) throw new Refusal(503, 'too many markets are read at the moment');
    const { id } = listed.market;
    const onEvent = (event: BookEvent): void => {
      const topic = this.#topics.get(id);
      if (topic !== undefined) this.#emitted(topic, event);
    };
    const book = this.#stream.openBook(id, { onEvent });
    book.ready().catch(() => this.#fail(id));
    const topic: Topic = { listed, book, readers: new Map(), last: null, best: '' };
    this.#topics.set(id, topic);
    return topic;
  }

  /** The exchange has no such book: its readers are ended, so that they ask again. */
  #fail(marketId: string): void {
    const topic = this.#topics.get(marketId);
    this.#topics.delete(marketId);
    for (const reader of topic?.readers.keys() ?? []) reader.close();
  }

  #closeUnread(topic: Topic): void {
    if (topic.readers.size > 0) return;
    this.#topics.delete(topic.listed.market.id);
    topic.book.close();
  }

  #emitted(topic: Topic, event: BookEvent): void {
    if (event.type === 'book') this.#replaced(topic);
    else if (event.type === 'delta') this.#changed(topic, event.frame);
    else if (event.type === 'trade') this.#traded(topic, event.frame);
  }

  #replaced(topic: Topic): void {
    topic.best = bestOf(topic);
    this.#each(topic, (outcome) => [bookMessage(topic, outcome)]);
  }

  #changed(topic: Topic, frame: DeltaFrame): void {
    this.#each(topic, (outcome) => changeMessage(topic, frame, outcome));
    const best = bestOf(topic);
    if (best === topic.best) return;
    topic.best = best;
    this.#each(
      topic,
      (outcome) => bestMessage(topic, frame, outcome),
      (reader) => this.#news.isFor(reader),
    );
  }

  #traded(topic: Topic, { data, timestamp }: TradeFrame): void {
    const { listed } = topic;
    const { outcome_index, taker_side, price, token_quantity_atomic } = data;
    topic.last = outcome_index === 0 ? price : otherPrice(price, listed);
    this.#each(topic, (outcome) => ({
      event_type: 'last_trade_price',
      market: listed.conditionId,
      asset_id: listed.tokens[outcome],
      price: priceText(outcome === outcome_index ? price : otherPrice(price, listed), listed),
      size: formatUnits(token_quantity_atomic),
      side: outcome === outcome_index ? taker_side : otherSide(taker_side),
      fee_rate_bps: String(listed.market.fee_bps),
      timestamp: String(timestamp),
    }));
  }

  #each(
    { readers }: Topic,
    messageOf: (outcome: Outcome) => object,
    isFor: (reader: Reader) => boolean = () => true,
  ): void {
    const messages = OUTCOMES.map((outcome) => (hasReader(readers, outcome) ? messageOf(outcome) : null));
    for (const [reader, outcomes] of readers) {
      if (!isFor(reader)) continue;
      for (const outcome of outcomes) {
        const message = messages[outcome];
        if (message !== null) reader.send(message);
      }
    }
  }
}

function hasReader(readers: Topic['readers'], outcome: Outcome): boolean {
  return [...readers.values()].some((outcomes) => outcomes.has(outcome));
}

function bookMessage({ listed, book, last }: Topic, outcome: Outcome): object {
  const token = { listed, outcome, tokenId: listed.tokens[outcome] };
  const lastPrice = last === null ? '' : priceText(ofOutcome(last, outcome, listed), listed);
  return { event_type: 'book', ...bookJson(token, book.levels(outcome), book.timestamp, lastPrice) };
}

/** A level as it is now; the frame says it of Yes. */
function changeMessage({ listed, book }: Topic, { data, timestamp, sequence }: DeltaFrame, outcome: Outcome): object {
  const { level } = data;
  const change = {
    asset_id: listed.tokens[outcome],
    price: priceText(ofOutcome(level.price, outcome, listed), listed),
    size: formatUnits(level.token_quantity_atomic),
    side: outcome === 0 ? level.side : otherSide(level.side),
    // Of no book: it names the change.
    hash: sequence.toString(16).padStart(40, '0'),
    ...bestTexts(listed, book, outcome),
  };
  return {
    event_type: 'price_change',
    market: listed.conditionId,
    price_changes: [change],
    timestamp: String(timestamp),
  };
}

/** For readers with `custom_feature_enabled`. */
function bestMessage({ listed, book }: Topic, { timestamp }: DeltaFrame, outcome: Outcome): object {
  const { bid, ask } = book.best(outcome);
  const spread = spreadOf({ bid: bid?.price ?? null, ask: ask?.price ?? null }, { listed });
  return {
    event_type: 'best_bid_ask',
    market: listed.conditionId,
    asset_id: listed.tokens[outcome],
    ...bestTexts(listed, book, outcome),
    spread: spread ?? '',
    timestamp: String(timestamp),
  };
}

function bestOf({ listed, book }: Topic): string {
  return Object.values(bestTexts(listed, book, 0)).join();
}

function bestTexts(listed: Listed, book: BookStream, outcome: Outcome): { best_bid: string; best_ask: string } {
  const { bid, ask } = book.best(outcome);
  const text = (price: string | undefined): string => (price === undefined ? '' : priceText(price, listed));
  return { best_bid: text(bid?.price), best_ask: text(ask?.price) };
}

function otherSide(side: string): 'BUY' | 'SELL' {
  return side === 'BUY' ? 'SELL' : 'BUY';
}
