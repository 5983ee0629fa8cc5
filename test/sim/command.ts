/** Commands of the simulator as plain values: written into a shard's ring, and passed to that shard's oracle. */
import { placeDigest } from '../../engine/verify/placeDigest.ts';
import type { Verifier } from '../../engine/verify/verifier.ts';
import { CLOSE_REASON, MOVEMENT } from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { CONVERSION, chosenOf } from '../../shared/base/eventSets.ts';
import { ADDRESS_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import type { Eip712Domain, OrderHasher } from '../../shared/crypto/eip712.ts';
import {
  ANY_GRANT,
  ANY_STAGE,
  BOTH_OUTCOMES,
  BOTH_SIDES,
  CANCEL_TOMBSTONE,
  COMMAND,
  type CommandType,
  claimCommand,
  EXTENDED_PLACE,
  NO_GROUP,
  NO_MARKET,
  REPLACE_MODE,
} from '../../shared/wire/commands.ts';
import { flagsExpecting } from '../../shared/wire/expectedRemainder.ts';
import { writeSafe } from '../../shared/wire/record.ts';
import type { RingProducer } from '../../shared/wire/ring.ts';
import {
  isExtended,
  type MarketTerms,
  type PlacementFields,
  writeMarketOpen,
  writeMarketPatch,
  writePlacement,
} from '../support/commandBodies.ts';
import { DOMAIN } from '../support/engine.ts';
import type { Oracle, Placement } from './oracle.ts';

/** An accepted order: its hash, and its number in its shard. */
export type Placed = {
  readonly hash: Uint32Array;
  readonly id: number;
  readonly placement: Placement;
  /** The contracts it is signed for. */
  readonly domain: number;
};

/** `market` is the index inside the shard; `marketOf` gives the index in the exchange. */
export type Command =
  | { readonly kind: 'open'; readonly market: number; readonly terms: MarketTerms }
  | { readonly kind: 'place'; readonly placement: Placement }
  | {
      readonly kind: 'replace';
      readonly placement: Placement;
      readonly order: Placed;
      readonly isAmend: boolean;
      /** The remainder that the old order has to have. */
      readonly expected?: number;
    }
  | { readonly kind: 'bury'; readonly placement: Placement; readonly domain: number; readonly hash: Uint32Array }
  | {
      readonly kind: 'cancel';
      readonly account: number;
      readonly placement: Placement;
      readonly domain: number;
      readonly hash: Uint32Array;
    }
  | {
      readonly kind: 'cancelMany';
      readonly account: number;
      readonly market?: number | undefined;
      readonly outcome?: number | undefined;
    }
  | {
      readonly kind: 'sweep';
      readonly account: number;
      readonly side?: number | undefined;
      readonly grant?: number | undefined;
    }
  | { readonly kind: 'nonceFloor'; readonly account: number; readonly wallet: number; readonly floor: number }
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
      /** For a deposit: as full sets of this market. */
      readonly market?: number;
    }
  | {
      readonly kind: 'patch';
      readonly market: number;
      readonly status?: number | undefined;
      readonly feeBps?: number | undefined;
      readonly startMs: number;
      readonly endMs: number;
    }
  | { readonly kind: 'decide'; readonly market: number; readonly status: number; readonly payoutYesPpm: number }
  | {
      readonly kind: 'convertSet';
      readonly account: number;
      /** The first market of the set. */
      readonly market: number;
      readonly chosen: readonly number[];
      readonly amount: number;
      readonly isToUsdc: boolean;
    }
  | {
      readonly kind: 'decideSet';
      readonly market: number;
      readonly status: number;
      readonly payouts: readonly number[] | null;
    }
  | { readonly kind: 'settleSet'; readonly market: number }
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
  /** Without a market: all markets. */
  | {
      readonly kind: 'stage';
      readonly stage: number;
      readonly from?: number | undefined;
      readonly market?: number | undefined;
    }
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

/** Text for reports. */
export function show(command: Command): string {
  return JSON.stringify(command, (key, value) => (key === 'hash' ? undefined : value));
}

/** The account whose money a command may need, or 0. */
export function accountOf(command: Command): number {
  if ('account' in command) return command.account;
  return 'placement' in command ? command.placement.account : 0;
}

/** True for commands that place an order. */
export function isPlacing(command: Command): command is Extract<Command, { kind: 'place' | 'replace' }> {
  return command.kind === 'place' || command.kind === 'replace';
}

/** Returns the index of a shard's market among those of all shards. */
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
  const { type, market, flags = 0, bytes } = headOf(command);
  const index = market === undefined ? NO_MARKET : toIndex(market);
  const word = claimCommand(ring, type, requestId, accountOf(command), timeMs, index, flags, bytes);
  if (word < 0) return false;
  writeBody(ring, word, command, index, toIndex);
  ring.publish();
  return true;
}

type Head = {
  readonly type: CommandType;
  readonly market?: number | undefined;
  readonly flags?: number;
  readonly bytes?: number;
};

function headOf(command: Command): Head {
  switch (command.kind) {
    case 'open':
      return { type: COMMAND.MARKET_OPEN.TYPE, market: command.market };
    case 'place':
      return { type: COMMAND.PLACE.TYPE, market: command.placement.market, bytes: placeBytes(command.placement) };
    case 'replace': {
      const flags = command.isAmend ? REPLACE_MODE.AMEND : REPLACE_MODE.CANCEL_REPLACE;
      const { expected } = command;
      const expects = expected === undefined ? 0 : flagsExpecting(expected);
      return { type: COMMAND.REPLACE.TYPE, market: command.placement.market, flags: flags | expects };
    }
    case 'bury':
      return { type: COMMAND.CANCEL.TYPE, flags: CLOSE_REASON.USER | CANCEL_TOMBSTONE };
    case 'cancel':
      return { type: COMMAND.CANCEL.TYPE, flags: CLOSE_REASON.USER };
    case 'cancelMany':
      return { type: COMMAND.CANCEL_MANY.TYPE, market: command.market, flags: CLOSE_REASON.USER };
    case 'sweep':
      return { type: COMMAND.SWEEP.TYPE, flags: CLOSE_REASON.ADMIN };
    case 'nonceFloor':
      return { type: COMMAND.NONCE_FLOOR.TYPE };
    case 'convert': {
      const flags = command.isSplit ? MOVEMENT.SPLIT : MOVEMENT.MERGE;
      return { type: COMMAND.CONVERT.TYPE, market: command.market, flags };
    }
    case 'funds':
      return {
        type: COMMAND.FUNDS.TYPE,
        market: command.market,
        flags: command.isDeposit ? MOVEMENT.DEPOSIT : MOVEMENT.WITHDRAWAL,
      };
    case 'patch':
      return { type: COMMAND.MARKET_PATCH.TYPE, market: command.market };
    case 'decide':
      return { type: COMMAND.RESOLVE.TYPE, market: command.market };
    case 'convertSet': {
      const flags = command.isToUsdc ? CONVERSION.TO_USDC : CONVERSION.FROM_USDC;
      return { type: COMMAND.CONVERT_SET.TYPE, market: command.market, flags };
    }
    case 'decideSet':
      return { type: COMMAND.DECIDE_SET.TYPE, market: command.market };
    case 'settleSet':
      return { type: COMMAND.SETTLE_SET.TYPE, market: command.market };
    case 'claim':
      return { type: COMMAND.CLAIM.TYPE, market: command.market };
    case 'settle':
      return { type: COMMAND.SETTLE.TYPE, market: command.market };
    case 'groupSet':
      return { type: COMMAND.GROUP_SET.TYPE };
    case 'groupReset':
      return { type: COMMAND.GROUP_RESET.TYPE };
    case 'groupTrip':
      return { type: COMMAND.GROUP_TRIP.TYPE };
    case 'contracts':
      return { type: COMMAND.CONTRACTS.TYPE };
    case 'stage':
      return { type: COMMAND.STAGE.TYPE, market: command.market, flags: command.stage };
    case 'tick':
      return { type: COMMAND.TICK.TYPE };
  }
}

function writeBody(
  ring: RingProducer,
  word: number,
  command: Command,
  marketIndex: number,
  toIndex: (market: number) => number,
): void {
  const { words } = ring;
  switch (command.kind) {
    case 'open':
      writeMarketOpen(words, word, marketIndex, command.terms);
      if (command.terms.set !== undefined) {
        words[word + COMMAND.MARKET_OPEN.set] = toIndex(command.terms.set.first) + 1;
      }
      break;
    case 'convertSet':
      words.set(chosenOf(command.chosen), word + COMMAND.CONVERT_SET.chosen);
      writeSafe(words, word + COMMAND.CONVERT_SET.amountAtomic, command.amount);
      break;
    case 'decideSet':
      words[word + COMMAND.DECIDE_SET.status] = command.status;
      words.set(command.payouts ?? [], word + COMMAND.DECIDE_SET.payoutsYesPpm);
      break;
    case 'place':
      writeOrder(words, word, command.placement, isExtended(fieldsOf(command.placement)));
      break;
    case 'replace':
      writeOrder(words, word, command.placement, true);
      words.set(command.order.hash, word + COMMAND.REPLACE.oldHash);
      words[word + EXTENDED_PLACE.expectedLow] = (command.expected ?? 0) % 2 ** 32;
      break;
    case 'bury':
    case 'cancel':
      words.set(command.hash, word + COMMAND.CANCEL.hash);
      break;
    case 'cancelMany':
      words[word + COMMAND.CANCEL_MANY.outcome] = command.outcome ?? BOTH_OUTCOMES;
      break;
    case 'sweep':
      words[word + COMMAND.SWEEP.side] = command.side ?? BOTH_SIDES;
      words[word + COMMAND.SWEEP.grant] = command.grant ?? ANY_GRANT;
      break;
    case 'nonceFloor':
      words[word + COMMAND.NONCE_FLOOR.wallet] = command.wallet;
      writeSafe(words, word + COMMAND.NONCE_FLOOR.floor, command.floor);
      break;
    case 'convert':
      writeSafe(words, word + COMMAND.CONVERT.amountAtomic, command.amount);
      break;
    case 'funds':
      writeSafe(words, word + COMMAND.FUNDS.amountMicro, command.amount);
      words[word + COMMAND.FUNDS.reference] = command.reference;
      break;
    case 'patch':
      writeMarketPatch(words, word, command);
      break;
    case 'decide':
      words[word + COMMAND.RESOLVE.status] = command.status;
      words[word + COMMAND.RESOLVE.payoutYesPpm] = command.payoutYesPpm;
      break;
    case 'groupSet':
      words[word + COMMAND.GROUP_SET.group] = command.group;
      words[word + COMMAND.GROUP_SET.windowSec] = command.windowSec;
      writeSafe(words, word + COMMAND.GROUP_SET.maxAtomic, command.maxAtomic);
      break;
    case 'groupReset':
    case 'groupTrip':
      words[word + COMMAND.GROUP_SET.group] = command.group;
      break;
    case 'contracts':
      writeContracts(ring, word, DOMAINS[command.domain]);
      break;
    case 'stage':
      words[word + COMMAND.STAGE.from] = command.from ?? ANY_STAGE;
  }
}

/** The hash of an order, which its signer knows before it is placed. */
export function hashOf(hasher: OrderHasher, placement: Placement): Uint32Array {
  const words = new Uint32Array(COMMAND.PLACE.BYTES / 4);
  writeOrder(words, 0, placement, false);
  const hash = new Uint32Array(8);
  placeDigest(hasher, words, new Uint8Array(words.buffer), 0, new Uint8Array(hash.buffer), 0);
  return hash;
}

/** Applies the same command to the oracle. @returns its answer; its events are in `oracle.events`. */
export function ask(oracle: Oracle, command: Command): number {
  switch (command.kind) {
    case 'open':
      // Sent again after a crash, it finds the market there.
      if (oracle.markets[command.market] === undefined) oracle.openMarket(command.terms);
      return OK;
    case 'place':
      return oracle.place(command.placement);
    case 'replace':
      return oracle.replace(command.placement, command.order.id, command.isAmend, command.expected);
    case 'bury':
      return oracle.bury(command.placement, command.domain);
    case 'cancel':
      return oracle.cancel(command.account, oracle.idOf(command.placement, command.domain));
    case 'cancelMany':
      oracle.cancelMany(command.account, command.market, command.outcome);
      return OK;
    case 'sweep':
      oracle.sweep(command.account, command.side, command.grant);
      return OK;
    case 'nonceFloor':
      return oracle.raiseNonceFloor(command.account, command.wallet, command.floor);
    case 'convert':
      return oracle.convert(command.account, command.market, BigInt(command.amount), command.isSplit);
    case 'funds':
      return oracle.funds(command);
    case 'patch':
      return oracle.patch(command.market, command);
    case 'decide':
      return oracle.decide(command.market, command.status, command.payoutYesPpm);
    case 'convertSet': {
      const { account, market, chosen, amount, isToUsdc } = command;
      return oracle.convertSet(account, market, chosen, BigInt(amount), isToUsdc);
    }
    case 'decideSet':
      return oracle.decideSet(command.market, command.status, command.payouts);
    case 'settleSet':
      return oracle.settleSet(command.market);
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
    case 'stage':
      return oracle.changeStage(command);
    case 'tick':
      return OK;
  }
}

function writeContracts({ words, bytes }: RingProducer, word: number, domain: Eip712Domain): void {
  writeSafe(words, word + COMMAND.CONTRACTS.chainId, domain.chainId);
  tryParseHex(domain.verifyingContract, ADDRESS_BYTES, bytes, (word + COMMAND.CONTRACTS.exchange) * 4);
}

function writeOrder(words: Uint32Array, word: number, placement: Placement, extended: boolean): void {
  writePlacement(words, word, fieldsOf(placement), extended);
  if (placement.isForged) words[word + COMMAND.PLACE.signature] = FORGED;
}

/** Group 0 is none: a plain command does. */
function fieldsOf(placement: Placement): PlacementFields {
  return { ...placement, group: placement.group === NO_GROUP ? undefined : placement.group };
}

function placeBytes(placement: Placement): number {
  return isExtended(fieldsOf(placement)) ? EXTENDED_PLACE.BYTES : COMMAND.PLACE.BYTES;
}
