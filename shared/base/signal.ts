/** A typed event of one source. Subscribers are notified in the order in which they subscribed. */
export class Signal<T> {
  readonly #subscribers: ((value: T) => void)[] = [];

  subscribe(subscriber: (value: T) => void): void {
    this.#subscribers.push(subscriber);
  }

  notify(value: T): void {
    for (const subscriber of this.#subscribers) subscriber(value);
  }
}
