/** The subscriptions to private frames, by account. Owner: the gateway thread. */

export type PrivateSubscriber = {
  readonly account: number;
  /** New frames of the account are in the log. */
  follow(): void;
};

export class PrivateSubscribers {
  readonly #byAccount = new Map<number, Set<PrivateSubscriber>>();

  add(subscriber: PrivateSubscriber): void {
    const others = this.#byAccount.get(subscriber.account);
    if (others === undefined) this.#byAccount.set(subscriber.account, new Set([subscriber]));
    else others.add(subscriber);
  }

  remove(subscriber: PrivateSubscriber): void {
    const others = this.#byAccount.get(subscriber.account);
    others?.delete(subscriber);
    if (others?.size === 0) this.#byAccount.delete(subscriber.account);
  }

  notify(accounts: ReadonlySet<number>): void {
    if (this.#byAccount.size === 0) return;
    for (const account of accounts) {
      for (const subscriber of this.#byAccount.get(account) ?? []) subscriber.follow();
    }
  }
}
