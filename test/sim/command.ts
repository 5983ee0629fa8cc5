/** Commands of the simulator as plain values: written into a shard's ring, and told to that shard's oracle. */
import { placeDigest } from '../../engine/verify/placeDigest.ts';
import type { Verifier } from '../../engine/verify/verifier.ts';
import { CLOSE_REASON, MOVEMENT } from '../../shared/codes.ts';
import * as cmd from '../../shared/commands.ts';
import type { Eip712Domain, OrderHasher } from '../../shared/eip712.ts';
import { OK } from '../../shared/errors.ts';
import { ADDRESS_BYTES, tryParseHex } from '../../shared/hex.ts';
import { writeSafe } from '../../shared/record.ts';
import type { RingProducer } from '../../shared/ring.ts';
import { DOMAIN, writeExtension } from '../support/engine.ts';
import type { Oracle, Placement } from './oracle.ts';

/** What a market is opened with. */
export type Terms = {
  ticksPerUnit: number;
  minOrderAtomic: number;
  status: number;
  feeBps: number;
  startMs: number;
  endMs: number;
};

/** An accepted order: its hash, and its number in its shard. */
export type Placed = {
  readonly hash: Uint32Array;
  readonly id: number;
  readonly placement: Placement;
  /** The contracts it is signed for. */
  readonly domain: number;
};

/** `market` counts inside the shard; `marketOf` says which one of the exchange that is. */
export type Command =
  | { readonly kind: 'open'; readonly market: number; readonly terms: Terms }
  | { readonly kind: 'place'; readonly placement: Placement }
  | { readonly kind: 'replace'; readonly placement: Placement; readonly order: Placed; readonly isAmend: boolean }
  | { readonly kind: 'bury'; readonly placement: Placement; readonly domain: number; readonly hash: Uint32Array }
  | {
      readonly kind: 'cancel';
      readonly account: number;
      readonly placement: Placement;
      readonly domain: number;
      readonly hash: Uint32Array;
    }
  | { readonly kind: 'cancelMany'; readonly account: number; readonly market?: number; readonly outcome?: number }
  | {
      readonly kind: 'convert';
      readonly account: number;
      readonly market: number;
      readonly amount: number;
      readonly isSplit: boolean;
    }
  | {
      readonly kind: 'funds';
      readonly account: number;
      readonly amount: number;
      readonly isDeposit: boolean;
      readonly reference: number;
    }
  | {
      readonly kind: 'patch';
      readonly market: number;
      readonly status?: number;
      readonly feeBps?: number;
      readonly startMs: number;
      readonly endMs: number;
    }
  | { readonly kind: 'decide'; readonly market: number; readonly status: number; readonly payoutYesPpm: number }
  | { readonly kind: 'claim'; readonly account: number; readonly market: number }
  | { readonly kind: 'settle'; readonly market: number }
  | {
      readonly kind: 'groupSet';
      readonly account: number;
      readonly group: number;
      readonly windowSec: number;
      readonly maxAtomic: number;
    }
  | { readonly kind: 'groupReset' | 'groupTrip'; readonly account: number; readonly group: number }
  | { readonly kind: 'contracts'; readonly domain: number }
  | { readonly kind: 'tick' };

const FORGED = 1;
/** Signatures of the simulation: whether one is right is written in its first byte. */
export const simVerifier: Verifier = {
  name: 'noble',
  verify: (_digest, _digestOffset, signature, offset) => signature[offset] !== FORGED,
};

/** Contracts that a world changes between; the first are those a shard is started with. */
export const DOMAINS: readonly Eip712Domain[] = [0, 1, 2].map((more) => ({
  ...DOMAIN,
  chainId: DOMAIN.chainId + more,
}));

/** For reports. */
export function show(command: Command): string {
  return JSON.stringify(command, (key, value) => (key === 'hash' ? undefined : value));
}

/** Whose money a command may need; 0 where it is nobody's. */
export function accountOf(command: Command): number {
  if ('account' in command) return command.account;
  return 'placement' in command ? command.placement.account : 0;
}

/** Whether it brings an order with it. */
export function isPlacing(command: Command): command is Extract<Command, { kind: 'place' | 'replace' }> {
  return command.kind === 'place' || command.kind === 'replace';
}

/** Where a shard's market stands among those of all shards. */
export function marketOf(shard: number, shards: number, market: number): number {
  return market * shards + shard;
}

/** @returns false when the ring is full: then nothing was sent. */
export function send(
  ring: RingProducer,
  requestId: number,
  timeMs: number,
  command: Command,
  toIndex: (market: number) => number,
): boolean {
  const { words } = ring;
  const begin = (type: cmd.CommandType, market: number | undefined, flags = 0, bytes?: number): number => {
    const index = market === undefined ? cmd.NO_MARKET : toIndex(market);
    return cmd.beginCommand(ring, type, requestId, accountOf(command), timeMs, index, flags, bytes);
  };
  let word: number;
  switch (command.kind) {
    case 'open':
      word = begin(cmd.COMMAND.MARKET_OPEN, command.market);
      if (word >= 0) writeOpen(words, word, toIndex(command.market), command.terms);
      break;
    case 'place':
      word = begin(cmd.COMMAND.PLACE, command.placement.market, 0, placeBytes(command.placement));
      if (word >= 0) writePlace(words, word, command.placement, isExtended(command.placement));
      break;
    case 'replace': {
      const mode = command.isAmend ? cmd.REPLACE_MODE.AMEND : cmd.REPLACE_MODE.CANCEL_REPLACE;
      word = begin(cmd.COMMAND.REPLACE, command.placement.market, mode);
      if (word < 0) break;
      writePlace(words, word, command.placement, true);
      words.set(command.order.hash, word + cmd.REPLACE_HASH);
      break;
    }
    case 'bury':
      word = begin(cmd.COMMAND.CANCEL, undefined, CLOSE_REASON.USER | cmd.CANCEL_TOMBSTONE);
      if (word >= 0) words.set(command.hash, word + cmd.CANCEL_HASH);
      break;
    case 'cancel':
      word = begin(cmd.COMMAND.CANCEL, undefined, CLOSE_REASON.USER);
      if (word >= 0) words.set(command.hash, word + cmd.CANCEL_HASH);
      break;
    case 'cancelMany':
      word = begin(cmd.COMMAND.CANCEL_MANY, command.market, CLOSE_REASON.USER);
      if (word >= 0) words[word + cmd.CANCEL_MANY_OUTCOME] = command.outcome ?? cmd.BOTH_OUTCOMES;
      break;
    case 'convert':
      word = begin(cmd.COMMAND.CONVERT, command.market, command.isSplit ? MOVEMENT.SPLIT : MOVEMENT.MERGE);
      if (word >= 0) writeSafe(words, word + cmd.CONVERT_AMOUNT, command.amount);
      break;
    case 'funds':
      word = begin(cmd.COMMAND.FUNDS, undefined, command.isDeposit ? MOVEMENT.DEPOSIT : MOVEMENT.WITHDRAWAL);
      if (word < 0) break;
      writeSafe(words, word + cmd.FUNDS_AMOUNT, command.amount);
      words[word + cmd.FUNDS_REFERENCE] = command.reference;
      break;
    case 'patch':
      word = begin(cmd.COMMAND.MARKET_PATCH, command.market);
      if (word < 0) break;
      words[word + cmd.PATCH_STATUS] = command.status ?? cmd.UNCHANGED;
      words[word + cmd.PATCH_FEE_BPS] = command.feeBps ?? cmd.UNCHANGED;
      writeSafe(words, word + cmd.PATCH_START_MS, command.startMs);
      writeSafe(words, word + cmd.PATCH_END_MS, command.endMs);
      break;
    case 'decide':
      word = begin(cmd.COMMAND.RESOLVE, command.market);
      if (word < 0) break;
      words[word + cmd.RESOLVE_STATUS] = command.status;
      words[word + cmd.RESOLVE_PAYOUT_YES_PPM] = command.payoutYesPpm;
      break;
    case 'claim':
      word = begin(cmd.COMMAND.CLAIM, command.market);
      break;
    case 'settle':
      word = begin(cmd.COMMAND.SETTLE, command.market);
      break;
    case 'groupSet':
      word = begin(cmd.COMMAND.GROUP_SET, undefined);
      if (word < 0) break;
      words[word + cmd.GROUP_INDEX] = command.group;
      words[word + cmd.GROUP_WINDOW_SEC] = command.windowSec;
      writeSafe(words, word + cmd.GROUP_MAX_ATOMIC, command.maxAtomic);
      break;
    case 'groupReset':
    case 'groupTrip':
      word = begin(command.kind === 'groupTrip' ? cmd.COMMAND.GROUP_TRIP : cmd.COMMAND.GROUP_RESET, undefined);
      if (word >= 0) words[word + cmd.GROUP_INDEX] = command.group;
      break;
    case 'contracts':
      word = begin(cmd.COMMAND.CONTRACTS, undefined);
      if (word >= 0) writeContracts(ring, word, DOMAINS[command.domain]!);
      break;
    case 'tick':
      word = begin(cmd.COMMAND.TICK, undefined);
  }
  if (word < 0) return false;
  ring.publish();
  return true;
}

/** The hash of an order, known to whoever signs it before the exchange has seen it. */
export function hashOf(hasher: OrderHasher, placement: Placement): Uint32Array {
  const words = new Uint32Array(cmd.COMMAND_BYTES[cmd.COMMAND.PLACE]! / 4);
  writePlace(words, 0, placement, false);
  const hash = new Uint32Array(8);
  placeDigest(hasher, words, new Uint8Array(words.buffer), 0, new Uint8Array(hash.buffer), 0);
  return hash;
}

/** Asks the oracle the same. @returns its answer; what it tells besides is in `oracle.told`. */
export function ask(oracle: Oracle, command: Command): number {
  switch (command.kind) {
    case 'open':
      // Sent again after a crash, it finds the market there.
      if (oracle.markets[command.market] === undefined) oracle.openMarket(command.terms);
      return OK;
    case 'place':
      return oracle.place(command.placement);
    case 'replace':
      return oracle.replace(command.placement, command.order.id, command.isAmend);
    case 'bury':
      return oracle.bury(command.placement, command.domain);
    case 'cancel':
      return oracle.cancel(command.account, oracle.idOf(command.placement, command.domain));
    case 'cancelMany':
      oracle.cancelMany(command.account, command.market, command.outcome);
      return OK;
    case 'convert':
      return oracle.convert(command.account, command.market, BigInt(command.amount), command.isSplit);
    case 'funds':
      return oracle.funds(command.account, BigInt(command.amount), command.isDeposit, command.reference);
    case 'patch':
      return oracle.patch(command.market, command);
    case 'decide':
      return oracle.decide(command.market, command.status, command.payoutYesPpm);
    case 'claim':
      return oracle.claim(command.account, command.market);
    case 'settle':
      return oracle.settle(command.market);
    case 'groupSet':
      return oracle.setGroup(command.account, command.group, command.windowSec, BigInt(command.maxAtomic));
    case 'groupReset':
      return oracle.resetGroup(command.account, command.group);
    case 'groupTrip':
      return oracle.tripGroup(command.account, command.group);
    case 'contracts':
      return oracle.changeContracts(command.domain);
    case 'tick':
      return OK;
  }
}

function writeOpen(words: Uint32Array, word: number, index: number, terms: Terms): void {
  words[word + cmd.OPEN_UUID] = index + 1;
  words[word + cmd.OPEN_TICKS_PER_UNIT] = terms.ticksPerUnit;
  words[word + cmd.OPEN_FEE_BPS] = terms.feeBps;
  writeSafe(words, word + cmd.OPEN_MIN_ORDER, terms.minOrderAtomic);
  writeSafe(words, word + cmd.OPEN_START_MS, terms.startMs);
  writeSafe(words, word + cmd.OPEN_END_MS, terms.endMs);
  words[word + cmd.OPEN_STATUS] = terms.status;
}

function writeContracts({ words, bytes }: RingProducer, word: number, domain: Eip712Domain): void {
  writeSafe(words, word + cmd.CONTRACTS_CHAIN_ID, domain.chainId);
  tryParseHex(domain.verifyingContract, ADDRESS_BYTES, bytes, (word + cmd.CONTRACTS_EXCHANGE) * 4);
}

function writePlace(words: Uint32Array, word: number, placement: Placement, extended: boolean): void {
  const { side, outcome, timeInForce } = placement;
  const bits =
    cmd.PLACE_BIT_AUTHORIZED |
    (placement.postOnly ? cmd.PLACE_BIT_POST_ONLY : 0) |
    (extended ? cmd.PLACE_BIT_EXTENDED : 0) |
    (placement.selfTrade << cmd.PLACE_SELF_TRADE_SHIFT);
  words[word + cmd.PLACE_SALT] = placement.salt;
  if (placement.isForged) words[word + cmd.PLACE_SIGNATURE] = FORGED;
  words[word + cmd.PLACE_KIND] = cmd.packKind(side, outcome, timeInForce, bits);
  writeSafe(words, word + cmd.PLACE_MAKER_AMOUNT, placement.makerAmount);
  writeSafe(words, word + cmd.PLACE_TAKER_AMOUNT, placement.takerAmount);
  writeSafe(words, word + cmd.PLACE_EXPIRATION_SEC, placement.expirationSec);
  words[word + cmd.PLACE_FEE_BPS] = placement.feeBps;
  writeSafe(words, word + cmd.PLACE_MIN_TAKER_NET, placement.minTakerNet);
  if (extended) writeExtension(words, word, placement);
}

function isExtended({ clientId, deadlineMs, group }: Placement): boolean {
  return clientId !== undefined || deadlineMs !== undefined || group !== cmd.NO_GROUP;
}

function placeBytes(placement: Placement): number {
  return isExtended(placement) ? cmd.EXTENDED_PLACE_BYTES : cmd.COMMAND_BYTES[cmd.COMMAND.PLACE]!;
}
