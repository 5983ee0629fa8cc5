/** The floor under the nonces of a wallet's orders (RULES.md 5.12), for exchange, contract and clients. */

/** A floor can be raised by at most this much at once, so that no slip uses up the nonces of a wallet. */
export const MOST_FLOOR_RAISE = 2 ** 32;
