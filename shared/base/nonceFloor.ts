/** The floor under the nonces of a wallet's orders (RULES.md 5.12), as exchange, contract and clients know it. */

/** A floor is raised by so much at once at most: no slip uses up the nonces of a wallet. */
export const MOST_FLOOR_RAISE = 2 ** 32;

/** The first version of the engine's layout (formats.ts) that keeps the nonces of open orders and knows floors. */
const ENGINE_WITH_FLOORS = 3;
/** The first one of control.db with a table for them. */
const CONTROL_WITH_FLOORS = 25;

/** False while members of an older version may follow: their shards would not do the same (FORMATS-1). */
export function knowsNonceFloors(format: (layout: 'engine' | 'control') => number): boolean {
  return format('engine') >= ENGINE_WITH_FLOORS && format('control') >= CONTROL_WITH_FLOORS;
}
