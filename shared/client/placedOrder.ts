/** An order that was sent: how the exchange has answered, how it ends, and how it is cancelled. */
import { isOfProxy } from './answers.ts';
import { ApiError } from './http.ts';
import type { SignedOrder } from './order.ts';
import type { OrderChanges } from './orderChanges.ts';
import type { FinalOrder, OrderTracker } from './orderTracker.ts';
import type { ReplacingOptions } from './placingOptions.ts';
import { INSPECT, type Inspecting, shown } from './shown.ts';
import type { AmendResponse, OrderRecord, PlacementBody, PlacementResponse, TombstoneResponse } from './types.ts';

/** The part of the client that an order needs. */
type Orders = {
  getOrder(orderHash: string): Promise<OrderRecord>;
  cancelOrder(orderHash: string): Promise<unknown>;
  cancelWithTombstone(orderHash: string): Promise<object | TombstoneResponse>;
};

/** The answer to a placement, with what the answer to an amend has beside it. */
export type PlacedAnswer = PlacementResponse & Partial<Omit<AmendResponse, keyof PlacementResponse>>;
/** Sends an order that replaces an existing one. */
export type Change = (
  way: 'amend' | 'replace',
  changes: OrderChanges,
  options: ReplacingOptions,
) => Promise<PlacedOrder>;

type Parts = {
  readonly orders: Orders;
  readonly tracker: OrderTracker;
  readonly signal: AbortSignal | undefined;
  readonly change: Change;
};

export class PlacedOrder {
  readonly hash: string;
  /** As it was signed: sent again, `client.placeOrder(order.body)` gives the first answer and no second order. */
  readonly body: PlacementBody;
  /** Null if the answer was lost. */
  readonly answer: PlacedAnswer | null;
  readonly #orders: Orders;
  readonly #tracker: OrderTracker;
  readonly #signal: AbortSignal | undefined;
  readonly #change: Change;
  #done: Promise<FinalOrder> | undefined;

  constructor(
    { orderHash, body }: SignedOrder,
    answer: PlacedAnswer | null,
    { orders, tracker, signal, change }: Parts,
  ) {
    this.hash = orderHash;
    this.body = body;
    this.answer = answer;
    this.#orders = orders;
    this.#tracker = tracker;
    this.#signal = signal;
    this.#change = change;
  }

  /**
   * Resolves when the order is filled, cancelled or expired, however often the connection is lost meanwhile. The order
   * is followed from the first time that this is read. Rejects if the account may not read the order any more, when the
   * client is closed, and with the reason of its signal.
   */
  get done(): Promise<FinalOrder> {
    if (this.#done === undefined) {
      this.#done = endingWith(this.#signal, this.#tracker.follow(this.hash, this.answer === null));
    }
    return this.#done;
  }

  /** The order as it is now; 404 if it never arrived. */
  record(): Promise<OrderRecord> {
    return this.#orders.getOrder(this.hash);
  }

  /**
   * Cancels what is left. One that is closed already stays as it is, which is no error. One whose placement was not
   * answered can never arrive after this: then `done` resolves to `rejected`.
   */
  async cancel(): Promise<void> {
    try {
      if (this.answer !== null) await this.#orders.cancelOrder(this.hash);
      else if ('tombstone_until' in (await this.#orders.cancelWithTombstone(this.hash)))
        this.#tracker.rejected(this.hash);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'ORDER_NOT_CANCELLABLE') throw error;
    }
  }

  /**
   * Signs an order of the same outcome and side that differs in `changes`, and puts it in the place of this one in one
   * step. It is returned, and this one is cancelled; refused, this one stays. Without a size it is for what is still to
   * be filled of this one, which is read first: 409 `REMAINING_CHANGED` if more was filled meanwhile. It keeps its
   * place in the queue where RULES.md 7.10 allows: `answer.time_priority` says so.
   */
  amend(changes: OrderChanges, options: ReplacingOptions = {}): Promise<PlacedOrder> {
    return this.#change('amend', changes, options);
  }

  /** The same with any order of the same market, which begins at the end of its queue. */
  replace(changes: OrderChanges, options: ReplacingOptions = {}): Promise<PlacedOrder> {
    return this.#change('replace', changes, options);
  }

  [INSPECT](...inspecting: Inspecting): string {
    const { side, maker_amount, taker_amount } = this.body;
    const status = this.answer?.status ?? null;
    return shown('PlacedOrder', { hash: this.hash, status, side, maker_amount, taker_amount }, inspecting);
  }
}

/**
 * The exchange's answer to a change was lost, also after retries: it may have been carried out, or may still be. Of a
 * placement by `client.place` it has the order: `order.record()` looks, `order.done` waits, `order.cancel()` makes sure
 * that it is not in the book, and `client.placeOrder(order.body)` sends it again; of an order that was to take the
 * place of another one that would be a second order, so look at both. `cause` is the last failure.
 */
export class UnknownOutcomeError<Order extends PlacedOrder | null = PlacedOrder | null> extends Error {
  override readonly name = 'UnknownOutcomeError';
  readonly order: Order;

  /** @param failure of the last attempt, or another error of this class, whose cause is taken */
  constructor(order: Order, failure: unknown, request = 'the request') {
    const cause = failure instanceof UnknownOutcomeError ? failure.cause : failure;
    const what = order === null ? request : `order ${order.hash}`;
    const end = order === null ? 'it may have been carried out' : 'it may have been placed';
    super(`${what} was sent and not answered${byProxy(cause)}: ${end}`, { cause });
    this.order = order;
  }
}

function byProxy(cause: unknown): string {
  if (!isOfProxy(cause)) return '';
  const status = cause instanceof ApiError ? `HTTP ${cause.status}` : 'a redirect';
  return ` by the exchange, but by a proxy before it (${status})`;
}

function endingWith<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason);
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}
