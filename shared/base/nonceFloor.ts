/** The floor under the nonces of a wallet's orders (RULES.md 5.12), for exchange, contract and clients. */

/** A floor can be raised by at most this much at once, so that no slip uses up the nonces of a wallet. */
export const MOST_FLOOR_RAISE = 2 ** 32;

/** The first version of the engine's layout (formats.ts) that keeps the nonces of open orders and knows floors. */
const ENGINE_WITH_FLOORS = 3;
/** The first version of control.db with a table for floors. */
const CONTROL_WITH_FLOORS = 25;

/** False while members of an older version may follow, because their shards would act differently (FORMATS-1). */
export function knowsNonceFloors(format: (layout: 'engine' | 'control') => number): boolean {
  return format('engine') >= ENGINE_WITH_FLOORS && format('control') >= CONTROL_WITH_FLOORS;
}
