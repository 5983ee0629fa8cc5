/**
 * The standard stream as commands of the engine, encoded in advance into one buffer, so that a run times the engine
 * without the encoding. Order ids alternate between the accounts. A sweep is a FAK order at the last price. One lot of
 * the stream is a whole token, so that amounts are as large as real ones and exceed 32 bits.
 *
 * An order hash is the order's id, spread over 256 bits by a bijection: unique like a digest, without the digest.
 */
import { assert } from '../shared/base/assert.ts';
import { CLOSE_REASON, MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/base/codes.ts';
import {
  ANY_COMMAND,
  COMMAND,
  COMMAND_BYTES,
  COMMAND_VERSION,
  type CommandType,
  NO_MARKET,
  PLACE_BIT_AUTHORIZED,
  packKind,
} from '../shared/wire/commands.ts';
import { RecordBuffer, writeSafe } from '../shared/wire/record.ts';
import { ID_OFFSET, LOTS_OFFSET, OPERATION, OPERATION_BYTES, type Stream } from './workload.ts';

export const TAPE_ACCOUNTS = 16;
export const TAPE_FEE_BPS = 50;
export const TAPE_TICKS_PER_UNIT = 100;
/** Lots of the market in one lot of the stream: one token. */
export const TAPE_LOTS = 10_000;
const UNIT_ATOMIC = TAPE_LOTS * TAPE_TICKS_PER_UNIT;
export const MARKET = 0;
const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;
/** Funds of each account, in micro-USDC and in atomic tokens: more than any stream can spend. */
export const DEPOSIT_MICRO = 200_000_000 * UNIT_ATOMIC;
export const SPLIT_ATOMIC = 100_000_000 * UNIT_ATOMIC;

const HASH_WORDS = 8;

export class CommandTape {
  readonly buffer: RecordBuffer;
  /** Word offset of each command. */
  readonly starts: Uint32Array;
  count = 0;

  constructor(capacityBytes: number, capacityCommands: number) {
    this.buffer = new RecordBuffer(capacityBytes);
    this.starts = new Uint32Array(capacityCommands);
  }

  addCommand(type: CommandType, account: number, market: number, flags: number): number {
    const word = this.buffer.append(COMMAND_BYTES[type], type | (COMMAND_VERSION << 16));
    const { words } = this.buffer;
    words[word + ANY_COMMAND.requestId] = this.count;
    words[word + ANY_COMMAND.account] = account;
    writeSafe(words, word + ANY_COMMAND.timeMs, NOW_MS);
    words[word + ANY_COMMAND.market] = market;
    words[word + ANY_COMMAND.flags] = flags;
    this.starts[this.count++] = word;
    return word;
  }
}

/** Commands that open the markets and give every account USDC and, in each market, both tokens. */
export function setUpTape(markets = 1): CommandTape {
  const commands = markets + TAPE_ACCOUNTS * (1 + markets);
  const tape = new CommandTape(commands * COMMAND.MARKET_OPEN.BYTES, commands);
  const { words } = tape.buffer;
  for (let account = 1; account <= TAPE_ACCOUNTS; account++) {
    const deposit = tape.addCommand(COMMAND.FUNDS.TYPE, account, NO_MARKET, MOVEMENT.DEPOSIT);
    writeSafe(words, deposit + COMMAND.FUNDS.amountMicro, DEPOSIT_MICRO);
    words[deposit + COMMAND.FUNDS.reference] = account;
  }
  for (let market = 0; market < markets; market++) {
    const open = tape.addCommand(COMMAND.MARKET_OPEN.TYPE, 0, market, 0);
    words[open + COMMAND.MARKET_OPEN.ticksPerUnit] = TAPE_TICKS_PER_UNIT;
    words[open + COMMAND.MARKET_OPEN.feeBps] = TAPE_FEE_BPS;
    words[open + COMMAND.MARKET_OPEN.status] = MARKET_STATUS.ACTIVE;
    writeSafe(words, open + COMMAND.MARKET_OPEN.minOrderAtomic, UNIT_ATOMIC);
    writeSafe(words, open + COMMAND.MARKET_OPEN.startMs, NOW_MS);
    writeSafe(words, open + COMMAND.MARKET_OPEN.endMs, NOW_MS + DAY_MS);
    for (let account = 1; account <= TAPE_ACCOUNTS; account++) {
      const split = tape.addCommand(COMMAND.CONVERT.TYPE, account, market, MOVEMENT.SPLIT);
      writeSafe(words, split + COMMAND.CONVERT.amountAtomic, SPLIT_ATOMIC / markets);
    }
  }
  assert(words === tape.buffer.words, 'tape: the set-up fits its first buffer');
  return tape;
}

export function encodeStream(stream: Stream): CommandTape {
  const { bytes, placed, spec } = stream;
  const placeBytes = placed * COMMAND.PLACE.BYTES;
  const cancelBytes = (spec.operations - placed) * COMMAND.CANCEL.BYTES;
  const tape = new CommandTape(placeBytes + cancelBytes, spec.operations);
  for (let at = 0; at < bytes.length; at += OPERATION_BYTES) {
    const id = bytes.readUInt32LE(at + ID_OFFSET);
    const account = 1 + (id % TAPE_ACCOUNTS);
    if (bytes[at] === OPERATION.CANCEL) {
      encodeCancel(tape, account, MARKET, id);
    } else {
      const timeInForce = bytes[at] === OPERATION.SWEEP ? TIME_IN_FORCE.FAK : TIME_IN_FORCE.GTC;
      const units = bytes.readUInt32LE(at + LOTS_OFFSET);
      encodePlace(tape, account, MARKET, id, bytes[at + 1], bytes[at + 2], units, timeInForce);
    }
  }
  return tape;
}

/** Returns the id of the order whose hash `writeHash` wrote. */
export function idOfHash(words: Uint32Array, word: number): number {
  return words[word + HASH_WORDS - 1];
}

export function encodeCancel(tape: CommandTape, account: number, market: number, id: number): void {
  const word = tape.addCommand(COMMAND.CANCEL.TYPE, account, market, CLOSE_REASON.USER);
  writeHash(tape.buffer.words, word + COMMAND.CANCEL.hash, id);
}

export function encodePlace(
  tape: CommandTape,
  account: number,
  market: number,
  id: number,
  side: number,
  tick: number,
  units: number,
  timeInForce: number,
): void {
  const word = tape.addCommand(COMMAND.PLACE.TYPE, account, market, 0);
  const { words } = tape.buffer;
  const usdcMicro = units * TAPE_LOTS * tick;
  const tokensAtomic = units * UNIT_ATOMIC;
  writeHash(words, word + COMMAND.PLACE.hash, id);
  words[word + COMMAND.PLACE.kind] = packKind(side, OUTCOME.YES, timeInForce, PLACE_BIT_AUTHORIZED);
  writeSafe(words, word + COMMAND.PLACE.makerAmount, side === SIDE.BUY ? usdcMicro : tokensAtomic);
  writeSafe(words, word + COMMAND.PLACE.takerAmount, side === SIDE.BUY ? tokensAtomic : usdcMicro);
  words[word + COMMAND.PLACE.feeBps] = TAPE_FEE_BPS;
}

/** The last word is the id itself, so that a check finds the order of an event. */
function writeHash(words: Uint32Array, word: number, id: number): void {
  for (let index = 0; index < HASH_WORDS - 1; index++) words[word + index] = scramble(id * HASH_WORDS + index);
  words[word + HASH_WORDS - 1] = id;
}

/** A bijection of the 32-bit numbers without a pattern: the finisher of MurmurHash3. */
function scramble(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
