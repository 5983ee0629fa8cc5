/** A promise with its ends, as Promise.withResolvers makes it: programs use the client on Node 20, which has none. */
export type Deferred<T> = {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason: unknown) => void;
};

export function deferred<T>(): Deferred<T> {
  let ends: Omit<Deferred<T>, 'promise'>;
  const promise = new Promise<T>((resolve, reject) => {
    ends = { resolve, reject };
  });
  return { promise, ...ends! };
}
