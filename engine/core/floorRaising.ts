/**
 * NONCE_FLOOR: the floor under the nonces of a wallet's orders is raised, and its open orders below it are closed
 * (RULES.md 5.12). A part of admission.ts and apply.ts, bound by the rules stated there. Owner: the shard thread.
 */
import { assert } from '../../shared/base/assert.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import * as commands from '../../shared/wire/commands.ts';
import { readSafe } from '../../shared/wire/record.ts';
import { NO_FLOOR } from '../book/nonceFloors.ts';
import { NONE, WORD_SHIFT } from '../book/orders.ts';
import type { Admitted } from './admitted.ts';
import type { ShardState } from './state.ts';

const { ANY_COMMAND, COMMAND } = commands;
const { NONCE_FLOOR, PLACE } = COMMAND;

/** @returns OK, or NONCE_BELOW_FLOOR with the floor as a detail. The maker is one of the account's wallets. */
export function refuseNonce({ nonceFloors }: ShardState, words: Uint32Array, word: number, admitted: Admitted): number {
  const account = words[word + ANY_COMMAND.account];
  const nonce = readSafe(words, word + PLACE.nonce);
  if (!nonceFloors.mayBeBelow(account, nonce)) return OK;
  const floor = nonceFloors.of(account, words, word + PLACE.makerAddress);
  if (nonce >= floor) return OK;
  admitted.detailA = floor;
  return E.NONCE_BELOW_FLOOR;
}

/** A raise to the present floor changes nothing, so a raise can be repeated. */
export function refuseFloor(words: Uint32Array, word: number): number {
  const floor = readSafe(words, word + NONCE_FLOOR.floor);
  return floor > NO_FLOOR && floor <= MAX_SAFE ? OK : E.VALIDATION_ERROR;
}

/** Closes the orders below it, oldest first. @returns the number closed */
export function raiseFloor(state: ShardState, words: Uint32Array, word: number): number {
  const { closing, digest, emit, markets, nonceFloors, orders } = state;
  const account = words[word + ANY_COMMAND.account];
  const wallet = word + NONCE_FLOOR.wallet;
  const floor = readSafe(words, word + NONCE_FLOOR.floor);
  const before = nonceFloors.of(account, words, wallet);
  if (floor <= before) return 0;
  if (before !== NO_FLOOR) digest.nonceFloor(account, words, wallet, before, -1);
  digest.nonceFloor(account, words, wallet, floor, 1);
  emit.nonceFloor(nonceFloors.raise(account, words, wallet, floor));
  let closed = 0;
  for (let slot = orders.firstOf(account); slot !== NONE; ) {
    const after = orders.accountNext[slot << WORD_SHIFT];
    if (orders.signed.isOfMaker(slot, words, wallet) && orders.signed.nonceOf(slot) < floor) {
      const market = markets.get(orders.market[slot << WORD_SHIFT]);
      assert(market !== undefined, 'ORDERS-1: the market of an open order is known');
      closing.close(market, slot, CLOSE_REASON.NONCE_FLOOR);
      closed++;
    }
    slot = after;
  }
  return closed;
}
