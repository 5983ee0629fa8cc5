/**
 * The standard stream as the engine's own commands, encoded ahead of time into one piece of memory, so that a run
 * times the engine and not the encoding. Accounts take turns by order id. A sweep is a FAK order at the last price. One
 * lot of the stream is a whole token, so that amounts are as large as real ones: 32 bits do not hold them.
 *
 * An order hash is the order's id, spread over 256 bits by a bijection: unique like a digest, without the digest.
 */
import { assert } from '../shared/assert.ts';
import { CLOSE_REASON, MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../shared/codes.ts';
import * as cmd from '../shared/commands.ts';
import { RecordBuffer, writeSafe } from '../shared/record.ts';
import { ID_OFFSET, LOTS_OFFSET, OPERATION, OPERATION_BYTES, type Stream } from './workload.ts';

export const TAPE_ACCOUNTS = 16;
export const TAPE_FEE_BPS = 50;
export const TAPE_TICKS_PER_UNIT = 100;
/** Lots of the market that make one lot of the stream: one token. */
export const TAPE_LOTS = 10_000;
const UNIT_ATOMIC = TAPE_LOTS * TAPE_TICKS_PER_UNIT;
export const MARKET = 0;
const NOW_MS = 1_800_000_000_000;
const DAY_MS = 86_400_000;
/** Per account, in micro-USDC and in atomic tokens: more than any stream can use up. */
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

  begin(type: cmd.CommandType, account: number, market: number, flags: number): number {
    const word = this.buffer.append(cmd.COMMAND_BYTES[type], type | (cmd.COMMAND_VERSION << 16));
    const { words } = this.buffer;
    words[word + cmd.CMD_REQUEST] = this.count;
    words[word + cmd.CMD_ACCOUNT] = account;
    writeSafe(words, word + cmd.CMD_TIME_MS, NOW_MS);
    words[word + cmd.CMD_MARKET] = market;
    words[word + cmd.CMD_FLAGS] = flags;
    this.starts[this.count++] = word;
    return word;
  }
}

/** Opens the markets and gives every account USDC and, in each, both tokens. */
export function setUpTape(markets = 1): CommandTape {
  const commands = markets + TAPE_ACCOUNTS * (1 + markets);
  const tape = new CommandTape(commands * cmd.COMMAND_BYTES[cmd.COMMAND.MARKET_OPEN], commands);
  const { words } = tape.buffer;
  for (let account = 1; account <= TAPE_ACCOUNTS; account++) {
    const deposit = tape.begin(cmd.COMMAND.FUNDS, account, cmd.NO_MARKET, MOVEMENT.DEPOSIT);
    writeSafe(words, deposit + cmd.FUNDS_AMOUNT, DEPOSIT_MICRO);
    words[deposit + cmd.FUNDS_REFERENCE] = account;
  }
  for (let market = 0; market < markets; market++) {
    const open = tape.begin(cmd.COMMAND.MARKET_OPEN, 0, market, 0);
    words[open + cmd.OPEN_TICKS_PER_UNIT] = TAPE_TICKS_PER_UNIT;
    words[open + cmd.OPEN_FEE_BPS] = TAPE_FEE_BPS;
    words[open + cmd.OPEN_STATUS] = MARKET_STATUS.ACTIVE;
    writeSafe(words, open + cmd.OPEN_MIN_ORDER, UNIT_ATOMIC);
    writeSafe(words, open + cmd.OPEN_START_MS, NOW_MS);
    writeSafe(words, open + cmd.OPEN_END_MS, NOW_MS + DAY_MS);
    for (let account = 1; account <= TAPE_ACCOUNTS; account++) {
      const split = tape.begin(cmd.COMMAND.CONVERT, account, market, MOVEMENT.SPLIT);
      writeSafe(words, split + cmd.CONVERT_AMOUNT, SPLIT_ATOMIC / markets);
    }
  }
  assert(words === tape.buffer.words, 'tape: the set-up fits its first buffer');
  return tape;
}

export function encodeStream(stream: Stream): CommandTape {
  const { bytes, placed, spec } = stream;
  const placeBytes = placed * cmd.COMMAND_BYTES[cmd.COMMAND.PLACE];
  const cancelBytes = (spec.operations - placed) * cmd.COMMAND_BYTES[cmd.COMMAND.CANCEL];
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

/** Which order a hash that `writeHash` wrote belongs to. */
export function idOfHash(words: Uint32Array, word: number): number {
  return words[word + HASH_WORDS - 1];
}

export function encodeCancel(tape: CommandTape, account: number, market: number, id: number): void {
  const word = tape.begin(cmd.COMMAND.CANCEL, account, market, CLOSE_REASON.USER);
  writeHash(tape.buffer.words, word + cmd.CANCEL_HASH, id);
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
  const word = tape.begin(cmd.COMMAND.PLACE, account, market, 0);
  const { words } = tape.buffer;
  const usdcMicro = units * TAPE_LOTS * tick;
  const tokensAtomic = units * UNIT_ATOMIC;
  writeHash(words, word + cmd.PLACE_HASH, id);
  words[word + cmd.PLACE_KIND] = cmd.packKind(side, OUTCOME.YES, timeInForce, cmd.PLACE_BIT_AUTHORIZED);
  writeSafe(words, word + cmd.PLACE_MAKER_AMOUNT, side === SIDE.BUY ? usdcMicro : tokensAtomic);
  writeSafe(words, word + cmd.PLACE_TAKER_AMOUNT, side === SIDE.BUY ? tokensAtomic : usdcMicro);
  words[word + cmd.PLACE_FEE_BPS] = TAPE_FEE_BPS;
}

/** The last word is the id itself, so that a check can tell which order an event speaks of. */
function writeHash(words: Uint32Array, word: number, id: number): void {
  for (let index = 0; index < HASH_WORDS - 1; index++) words[word + index] = scramble(id * HASH_WORDS + index);
  words[word + HASH_WORDS - 1] = id;
}

/** A bijection of the 32-bit numbers that leaves no pattern: the finisher of MurmurHash3. */
function scramble(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
