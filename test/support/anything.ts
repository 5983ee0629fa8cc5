/**
 * Stands for every part of an exchange where only declarations are looked at: each member is this object again, and so
 * is each result.
 */
// biome-ignore lint/suspicious/noExplicitAny: it has every type
export const anything: any = new Proxy(() => undefined, {
  get: (_, name) => {
    if (name === Symbol.toPrimitive) return () => 0;
    return name === Symbol.iterator ? function* () {} : anything;
  },
  apply: () => anything,
  construct: () => anything,
});
