/**
 * One shard's engine: a command in, journaled events out. The same object serves the thread (shard.ts), recovery, the
 * tests and the benches; it owns no thread, no file and no clock.
 *
 * Invariants:
 *   E1  A refused command leaves nothing behind: no event but its reply, no journal record, no changed state.
 *   E2  Time never runs backwards: a command's time is the largest seen so far.
 *   E3  What is due by time happens in a TICK record of its own before the command that noticed it.
 *   E4  Replaying a record gives, byte for byte, the events that are stored behind it.
 *   E5  Every DIGEST_EVERY records the digest of the whole state is among those events, so a replay that went astray in
 *       something no event shows is noticed as well.
 *
 * Nothing written to `out` may leave the thread before the journal has committed what was appended with it.
 */
import { assert } from '../shared/assert.ts';
import type { Balances } from '../shared/balances.ts';
import * as commands from '../shared/commands.ts';
import type { OrderHasher } from '../shared/eip712.ts';
import { OK } from '../shared/errors.ts';
import { EVENT, EVENT_BYTES } from '../shared/events.ts';
import { RecordBuffer, readSafe, writeSafe } from '../shared/record.ts';
import { Apply } from './apply.ts';
import { collectResting } from './dormancy.ts';
import { Entry, NOTHING_TO_DO } from './entry.ts';
import type { JournalStore } from './journal.ts';
import { NONE, WORDS } from './orders.ts';
import { ShardState } from './state.ts';
import { NO_TAG } from './tags.ts';
import type { Verifier } from './verify/verifier.ts';

// Own constants for speed: see emit.ts.
const cmd = { ...commands };

const DIGEST_EVERY = 1024;
const RECORD_EVENT_BYTES = EVENT_BYTES[EVENT.RECORD]!;

/** The journal tells another story than this program: a damaged state, or a program whose rules have changed. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';

  constructor(sequence: number) {
    super(`record ${sequence}: the replay gives other events than the journal holds`);
  }
}

export type EngineParts = {
  readonly balances: Balances;
  readonly collateralCheck: boolean;
  readonly hasher: OrderHasher;
  readonly verifier: Verifier;
  readonly journal: Pick<JournalStore, 'append'>;
};

export class Engine {
  readonly state: ShardState;
  /** Events of the commands since it was last cleared, replies included. */
  readonly out: RecordBuffer;
  /** Sequence of the last journaled record. */
  sequence = 0;
  nowMs = 0;

  readonly #entry: Entry;
  readonly #apply: Apply;
  readonly #hasher: OrderHasher;
  readonly #journal: Pick<JournalStore, 'append'>;
  readonly #tickCommand = new RecordBuffer(cmd.COMMAND_BYTES[cmd.COMMAND.TICK]!);

  constructor(parts: EngineParts) {
    this.state = new ShardState(parts.balances, parts.collateralCheck);
    this.out = this.state.emit.out;
    this.#entry = new Entry(this.state, parts.hasher, parts.verifier);
    this.#apply = new Apply(this.state);
    this.#hasher = parts.hasher;
    this.#journal = parts.journal;
    this.#tickCommand.append(cmd.COMMAND_BYTES[cmd.COMMAND.TICK]!, cmd.COMMAND.TICK | (cmd.COMMAND_VERSION << 16));
  }

  /** When the commands that follow reached the shard, by its own clock: what deadlines are held against. */
  arrivedAt(nowMs: number): void {
    this.#entry.arrivedMs = nowMs;
  }

  /** Runs one live command. `words` and `bytes` are two views of the same memory, which must not be shared. */
  submit(words: Uint32Array, bytes: Uint8Array, word: number): void {
    const timeMs = Math.max(this.nowMs, readSafe(words, word + cmd.CMD_TIME_MS));
    this.nowMs = timeMs;
    if (timeMs >= this.#apply.nextDueMs()) this.#tick(timeMs);
    const type = words[word + cmd.CMD_TYPE]! & 0xffff;
    if (type === cmd.COMMAND.TICK) return;
    writeSafe(words, word + cmd.CMD_TIME_MS, timeMs);

    const { emit } = this.state;
    const requestId = words[word + cmd.CMD_REQUEST]!;
    let code = this.#entry.check(type, words, bytes, word);
    if (code !== OK) {
      const told = code === NOTHING_TO_DO ? OK : code;
      emit.reply(requestId, told, 0, this.#entry.a, this.#entry.b, this.#entry.c);
      return;
    }
    const start = this.out.lengthBytes;
    emit.record(this.sequence + 1, words, word);
    code = this.#apply.run(type, words, word);
    if (this.out.lengthBytes === start + RECORD_EVENT_BYTES) {
      // Done without changing anything, or refused by a reservation another shard won: nothing to journal. Asked
      // again, the checks say what is missing.
      this.out.truncate(start);
      if (code !== OK) this.#entry.check(type, words, bytes, word);
      emit.reply(requestId, code, 0, this.#entry.a, this.#entry.b, this.#entry.c);
      return;
    }
    assert(code === OK, 'E1: a refused command has no events');
    if (type === cmd.COMMAND.CONTRACTS) this.#useContracts();
    this.#seal(this.sequence + 1);
    this.#append(words, word, start);
    emit.reply(requestId, OK, this.sequence, this.#apply.a, this.#apply.b, 0);
  }

  /** Runs one journaled command again and checks that it does what it did (E4). */
  replay(
    sequence: number,
    timeMs: number,
    words: Uint32Array,
    commandWord: number,
    eventWord: number,
    eventBytes: number,
  ): void {
    assert(sequence === this.sequence + 1, 'E4: records are replayed without a gap');
    const type = words[commandWord + cmd.CMD_TYPE]! & 0xffff;
    this.#apply.prepare(type, words, commandWord);
    const code = this.#apply.run(type, words, commandWord);
    this.#seal(sequence);
    let isSame = code === OK && this.out.lengthBytes === eventBytes;
    const count = eventBytes >>> 2;
    for (let i = 0; isSame && i < count; i++) isSame = this.out.words[i] === words[eventWord + i];
    if (!isSame) throw new ReplayError(sequence);
    this.out.clear();
    this.sequence = sequence;
    this.nowMs = timeMs;
  }

  /** Continues behind what a snapshot kept. */
  resumeAt(sequence: number, nowMs: number): void {
    this.sequence = sequence;
    this.nowMs = nowMs;
  }

  /**
   * From here on commands are new: the shared cells are put right and asked, credits wait for their commit.
   * @param postOnlyUntilMs until then orders may only rest (RULES.md 7.13).
   */
  goLive(postOnlyUntilMs = 0): void {
    this.#entry.postOnlyUntilMs = postOnlyUntilMs;
    this.state.ledger.goLive();
    this.#useContracts();
  }

  /** Orders are signed for the latest contracts; before the first change, for those the hasher was made with. */
  #useContracts(): void {
    const { contracts } = this.state;
    if (contracts.haveChanged) this.#hasher.setDomain(contracts.chainId, contracts.exchange);
  }

  /**
   * Tells how everything stands, then READY, through `flush`, which must take away what `out` holds.
   * Orders come level by level, best first, in queue order, then the dormant ones by priority.
   */
  describe(flush: () => void): void {
    const { contracts, groups, markets, ledger, orders, emit, totals } = this.state;
    if (contracts.haveChanged) emit.contracts(contracts);
    for (const market of markets.all()) emit.market(market);
    for (const group of groups.all()) {
      emit.group(group);
      if (this.out.lengthBytes > 1 << 19) flush();
    }
    for (let account = 0; account < ledger.accountCapacity; account++) {
      if (ledger.netMicro[account] !== 0 || ledger.reservedMicro[account] !== 0) emit.usdc(account);
    }
    for (let row = 0; row < ledger.positions.count; row++) {
      emit.position(row);
      if (this.out.lengthBytes > 1 << 19) flush();
    }
    emit.fundsTotals(totals.depositedMicro, totals.withdrawnMicro);
    const slots: number[] = [];
    for (const market of markets.all()) {
      slots.length = 0;
      collectResting(market.book.bids, orders, slots);
      collectResting(market.book.asks, orders, slots);
      for (let slot = market.book.dormantHead; slot !== NONE; slot = orders.next[slot << WORDS]!) slots.push(slot);
      for (const slot of slots) {
        emit.orderState(slot);
        if (orders.tag[slot << WORDS] !== NO_TAG) emit.tag(slot);
        if (this.out.lengthBytes > 1 << 19) flush();
      }
    }
    emit.ready(this.sequence, this.nowMs);
    flush();
  }

  #tick(timeMs: number): void {
    const start = this.out.lengthBytes;
    const { words } = this.#tickCommand;
    writeSafe(words, cmd.CMD_TIME_MS, timeMs);
    this.state.emit.record(this.sequence + 1, words, 0);
    this.#apply.run(cmd.COMMAND.TICK, words, 0);
    assert(this.out.lengthBytes > start + RECORD_EVENT_BYTES, 'E3: a tick is only due when something happens');
    this.#seal(this.sequence + 1);
    this.#append(words, 0, start);
  }

  /** Ends the events of every DIGEST_EVERY-th record with the state digest. */
  #seal(sequence: number): void {
    if (sequence % DIGEST_EVERY !== 0) return;
    const lanes = this.state.emit.digest();
    this.state.sealedDigest(this.out.words, lanes);
  }

  #append(words: Uint32Array, word: number, start: number): void {
    this.sequence++;
    const events = start + RECORD_EVENT_BYTES;
    this.#journal.append(
      this.sequence,
      this.nowMs,
      words,
      word,
      words[word]!,
      this.out.words,
      events >>> 2,
      this.out.lengthBytes - events,
    );
  }
}
