/**
 * One shard's engine: a command in, journaled events out. The same object serves the thread (shard/main.ts), recovery,
 * the tests and the benches; it owns no thread, no file and no clock.
 *
 * Invariants:
 *   ENGINE-1  A refused command has no effect: no event but its reply, no journal record, no changed state.
 *   ENGINE-2  Time never runs backwards: a command's time is the largest seen so far.
 *   ENGINE-3  Changes that are due by time happen in separate TICK records before the command that noticed them; an
 *             overtaking cancel waits for only one of them.
 *   ENGINE-4  Replaying a record gives, byte for byte, the events that are stored after it.
 *   ENGINE-5  Every DIGEST_EVERY records the digest of the whole state is among those events, so a replay that diverges
 *             in state which no event shows is noticed as well.
 *
 * Nothing written to `out` may leave the thread before the records appended with it are held: committed by the journal,
 * and in a cluster by the replicated log as well.
 */
import { assert } from '../../shared/base/assert.ts';
import { FEE_ACCOUNT, MOVEMENT, STAGE } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { COMMAND_AGES } from '../../shared/wire/ages.ts';
import type { Balances } from '../../shared/wire/balances.ts';
import * as commands from '../../shared/wire/commands.ts';
import { EVENT } from '../../shared/wire/events.ts';
import { RecordBuffer, readSafe, writeSafe } from '../../shared/wire/record.ts';
import { recordVersionOf } from '../../shared/wire/version.ts';
import { MOST_HASHES } from '../book/hashIndex.ts';
import { NONE, WORD_SHIFT } from '../book/orders.ts';
import { NO_TAG } from '../book/tags.ts';
import { JournalRecord } from '../journal/journalRecord.ts';
import type { JournalStore } from '../journal/journalStore.ts';
import { EventWriter } from '../output/emit.ts';
import type { OrderChecks } from '../verify/orderChecks.ts';
import { Admission, NOTHING_TO_DO } from './admission.ts';
import { Admitted, readmit } from './admitted.ts';
import { Apply } from './apply.ts';
import { collectResting } from './dormancy.ts';
import { needsSets } from './eventSetRefusals.ts';
import { NEWEST_RULES, RULES_BEFORE } from './rules.ts';
import { ShardState } from './state.ts';
import { ROWS_OF_RECORD } from './steps.ts';

const { ANY_COMMAND, assertCommand, COMMAND, COMMAND_VERSION, NO_MARKET } = commands;
const { CONTRACTS, MARKET_PATCH, RAISE, RESOLVE, RULES, SETTLE, STEP, TICK } = COMMAND;
const { DECIDE_SET, SETTLE_SET } = COMMAND;

const DIGEST_EVERY = 1024;
const RECORD_EVENT_BYTES = EVENT.RECORD.BYTES;

/** The journal holds other events than this program computes: the state is damaged, or the program has other rules. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';

  constructor(sequence: number) {
    super(`record ${sequence}: the replay gives other events than the journal holds`);
  }
}

type EngineParts = {
  readonly balances: Balances;
  readonly collateralCheck: boolean;
  readonly checks: OrderChecks;
  readonly journal: Pick<JournalStore, 'append'>;
  /** Orders and holders that one record may close and pay. */
  readonly rowsOfRecord?: number | undefined;
};

export class Engine {
  readonly state: ShardState;
  /** Events of the commands since it was last cleared, replies included. */
  readonly out: RecordBuffer;
  /** Sequence of the last journaled record. */
  sequence = 0;
  nowMs = 0;
  /** Number of the gateway thread that sent the current command and receives its reply. No state depends on it. */
  gateway = 0;

  readonly #admission: Admission;
  readonly #admitted = new Admitted();
  readonly #apply: Apply;
  readonly #checks: OrderChecks;
  readonly #journal: Pick<JournalStore, 'append'>;
  /** The record handed to the journal; the same object is used for every record. */
  readonly #row = new JournalRecord();
  readonly #tickCommand = new RecordBuffer(TICK.BYTES);
  readonly #stepCommand = new RecordBuffer(STEP.BYTES);
  readonly #rowsOfRecord: number;
  /** The rules that are to be in force: until they are, the next command but a tick brings them. */
  #rulesDue = RULES_BEFORE;

  constructor(parts: EngineParts) {
    this.state = new ShardState(parts.balances, parts.collateralCheck);
    this.out = this.state.emit.out;
    this.#admission = new Admission(this.state, parts.checks);
    this.#apply = new Apply(this.state);
    this.#checks = parts.checks;
    this.#journal = parts.journal;
    this.#rowsOfRecord = parts.rowsOfRecord ?? ROWS_OF_RECORD;
    assert(this.#rowsOfRecord > 0, 'STEPS-2: a record may do something');
    for (const [command, type] of [
      [this.#tickCommand, TICK.TYPE],
      [this.#stepCommand, STEP.TYPE],
    ] as const) {
      command.append(ANY_COMMAND.BYTES, type | (COMMAND_VERSION << 16));
      command.words[ANY_COMMAND.market] = NO_MARKET;
      command.words[ANY_COMMAND.flags] = this.#rowsOfRecord;
    }
  }

  /** True while markets are being ended: the shard runs steps between its commands. */
  get hasSteps(): boolean {
    return !this.state.markets.endings.isEmpty;
  }

  /** Continues with the markets that are being ended, at the time of the last command. */
  step(): void {
    assert(this.hasSteps, 'STEPS-2: a step is only run when there is something to do');
    this.#runOwn(STEP.TYPE, this.#stepCommand.words, this.nowMs);
  }

  /** Makes numbers continue above a floor, before anything that is due happens (raising.ts). */
  raise(floor: number): void {
    const command = new RecordBuffer(RAISE.BYTES);
    const word = command.append(RAISE.BYTES, RAISE.TYPE | (COMMAND_VERSION << 16));
    command.words[word + ANY_COMMAND.market] = NO_MARKET;
    writeSafe(command.words, word + RAISE.floor, floor);
    this.#runOwn(RAISE.TYPE, command.words, this.nowMs);
  }

  /** True if a command of this time must wait until `tick` has made all changes that are due. */
  isDue(timeMs: number): boolean {
    return timeMs >= this.#apply.nextDueMs();
  }

  /** Makes some of the changes that are due by this time: as many as one record may. */
  tick(timeMs: number): void {
    this.nowMs = Math.max(this.nowMs, timeMs);
    assert(this.isDue(this.nowMs), 'ENGINE-3: a tick is only due when something happens');
    this.#runOwn(TICK.TYPE, this.#tickCommand.words, this.nowMs);
  }

  /** Journals a record that changes nothing: the first of a journal that begins after a snapshot. */
  begin(): void {
    this.#runOwn(TICK.TYPE, this.#tickCommand.words, this.nowMs, true);
  }

  /** Sets the arrival time of the following commands, by the shard's own clock: deadlines are compared with it. */
  arrivedAt(nowMs: number): void {
    this.#admission.arrivedMs = nowMs;
  }

  /**
   * Runs one live command. `words` and `bytes` are two views of the same memory, which must not be shared.
   * @param isOvertaking true for a cancel that runs before others: orders that are due to expire may still be open
   */
  submit(words: Uint32Array, bytes: Uint8Array, word: number, isOvertaking = false): void {
    const timeMs = Math.max(this.nowMs, readSafe(words, word + ANY_COMMAND.timeMs));
    this.nowMs = timeMs;
    if (this.#isDueNow) {
      this.tick(timeMs);
      while (!isOvertaking && this.isDue(timeMs)) this.tick(timeMs);
    }
    const type = words[word + ANY_COMMAND.type] & 0xffff;
    const requestId = words[word + ANY_COMMAND.requestId];
    if (type === TICK.TYPE) {
      if (requestId !== commands.NO_REQUEST) this.#reply(requestId, OK, 0);
      return;
    }
    if (this.state.rules < this.#rulesDue) this.#useRules();
    writeSafe(words, word + ANY_COMMAND.timeMs, timeMs);
    const version = recordVersionOf(this.state.rules);
    if (version !== COMMAND_VERSION) {
      if (needsSets(type, this.state.rules, words, word)) return this.#reply(requestId, E.SETS_UNAVAILABLE, 0);
      COMMAND_AGES.forget(version, words, word);
    }
    if (type === MARKET_PATCH.TYPE || type === RESOLVE.TYPE || type === SETTLE.TYPE)
      words[word + ANY_COMMAND.flags] = this.#rowsOfRecord;
    if (type === DECIDE_SET.TYPE || type === SETTLE_SET.TYPE) words[word + ANY_COMMAND.flags] = this.#rowsOfRecord;

    const { emit } = this.state;
    let code = this.#admission.check(type, words, bytes, word, this.#admitted);
    if (code !== OK) {
      this.#reply(requestId, code === NOTHING_TO_DO ? OK : code, 0);
      return;
    }
    const start = this.out.lengthBytes;
    emit.record(this.sequence + 1, words, word);
    code = this.#apply.run(type, words, word, this.#admitted);
    if (this.out.lengthBytes === start + RECORD_EVENT_BYTES) {
      // The command changed nothing, or another shard first debited the USDC it needs: there is nothing to journal.
      // Checking again finds the details of the refusal.
      this.out.truncate(start);
      if (code !== OK) this.#admission.check(type, words, bytes, word, this.#admitted);
      this.#reply(requestId, code, 0);
      return;
    }
    assert(code === OK, 'ENGINE-1: a refused command has no events');
    if (type === CONTRACTS.TYPE) this.#useContracts();
    this.#emitDigest(this.sequence + 1);
    this.#append(words, word, start);
    this.#reply(requestId, OK, this.sequence);
  }

  /** Runs one journaled command again and checks that it does what it did (ENGINE-4). */
  replay(record: JournalRecord): void {
    this.#repeat(record, 0);
    this.out.clear();
  }

  /** Like `replay`, for a record journaled by another member of the cluster: its events are published here as well. */
  follow(record: JournalRecord): void {
    const start = this.out.lengthBytes;
    this.state.emit.record(record.sequence, record.command.words, record.command.word);
    this.#repeat(record, start + RECORD_EVENT_BYTES);
  }

  /** @param start offset of the events in `out`, in bytes */
  #repeat({ sequence, timeMs, command, events }: JournalRecord, start: number): void {
    assert(sequence === this.sequence + 1, 'ENGINE-4: records are replayed without a gap');
    assert(timeMs >= this.nowMs, 'ENGINE-2: records are in order of time');
    assertCommand(command.words, command.word);
    const type = command.words[command.word + ANY_COMMAND.type] & 0xffff;
    readmit(this.state, type, command.words, command.word, this.#admitted);
    const code = this.#apply.run(type, command.words, command.word, this.#admitted);
    this.#emitDigest(sequence);
    let isSame = code === OK && this.out.lengthBytes - start === events.bytes;
    const { words, word: eventWord, bytes } = events;
    const startWord = start >>> 2;
    const wordCount = bytes >>> 2;
    for (let i = 0; isSame && i < wordCount; i++) isSame = this.out.words[startWord + i] === words[eventWord + i];
    if (!isSame) throw new ReplayError(sequence);
    this.sequence = sequence;
    this.nowMs = timeMs;
  }

  /** Continues after the record at which a snapshot was taken. */
  resumeAt(sequence: number, nowMs: number): void {
    assert(this.sequence === 0, 'ENGINE-4: only a new engine takes over a snapshot');
    assert(sequence >= 0 && nowMs >= 0, 'ENGINE-2: a snapshot has a sequence and a time');
    this.sequence = sequence;
    this.nowMs = nowMs;
  }

  /**
   * Ends the replay: from here on commands are new, the shared cells hold what can be spent, and credits wait for their
   * commit.
   * @param postOnlyUntilMs until then orders may only rest (RULES.md 7.13).
   * @param mostOrders that the shard remembers in memory (RULES.md 2.12). A replay knows no bound.
   * @param rules that come into force with the next command, because every reader of the journal knows them.
   */
  goLive(postOnlyUntilMs = 0, mostOrders = MOST_HASHES, rules = RULES_BEFORE): void {
    assert(rules <= NEWEST_RULES, 'RULES-1: only rules that this program knows come into force');
    this.#rulesDue = rules;
    assert(mostOrders <= MOST_HASHES, 'HASHES-3: an index is told to hold what it can');
    this.#admission.postOnlyUntilMs = postOnlyUntilMs;
    this.#admission.mostOrders = mostOrders;
    this.state.ledger.goLive();
    this.#useContracts();
  }

  #useRules(): void {
    const command = new RecordBuffer(RULES.BYTES);
    command.append(RULES.BYTES, RULES.TYPE | (COMMAND_VERSION << 16));
    command.words[ANY_COMMAND.market] = NO_MARKET;
    command.words[RULES.rules] = this.#rulesDue;
    this.#runOwn(RULES.TYPE, command.words, this.nowMs, true);
  }

  /** Orders are signed for the latest contracts; before the first change, for those of the settings. */
  #useContracts(): void {
    const { contracts } = this.state;
    if (contracts.haveChanged) this.#checks.setDomain(contracts.chainId, contracts.exchange);
  }

  /**
   * Emits the whole state, then READY. `flush` is called whenever the output has grown and must empty it.
   * Orders come level by level, best first, in queue order, then the dormant ones by priority.
   * @param out a separate output, if the engine's own output still holds events for other gateways
   */
  describe(flush: () => void, out = this.out): void {
    const { contracts, groups, markets, ledger, nonceFloors, orders, stages, totals } = this.state;
    const emit = out === this.out ? this.state.emit : new EventWriter(out, orders, ledger);
    if (contracts.haveChanged) emit.contracts(contracts);
    if (stages.ofShard !== STAGE.OPEN) emit.stage(stages.ofShard, stages.ofShard);
    for (const floor of nonceFloors.all()) {
      emit.nonceFloor(floor);
      if (out.lengthBytes > 1 << 19) flush();
    }
    for (const market of markets.all()) {
      emit.market(market);
      if (market.lastFillMicros !== 0) emit.lastFill(market);
      if (out.lengthBytes > 1 << 19) flush();
    }
    for (const set of markets.sets.all()) {
      emit.set(set);
      if (out.lengthBytes > 1 << 19) flush();
    }
    for (const group of groups.all()) {
      emit.group(group);
      if (out.lengthBytes > 1 << 19) flush();
    }
    for (let account = 0; account < ledger.accountCapacity; account++) {
      if (ledger.netMicro[account] !== 0 || ledger.reservedMicro[account] !== 0) emit.usdc(account);
      if (out.lengthBytes > 1 << 19) flush();
    }
    for (let row = 0; row < ledger.positions.count; row++) {
      emit.position(row);
      if (out.lengthBytes > 1 << 19) flush();
    }
    emit.funds(FEE_ACCOUNT, NO_MARKET, MOVEMENT.DEPOSIT, totals.depositedMicro);
    emit.funds(FEE_ACCOUNT, NO_MARKET, MOVEMENT.WITHDRAWAL, totals.withdrawnMicro);
    const slots: number[] = [];
    for (const market of markets.all()) {
      slots.length = 0;
      collectResting(market.book.bids, orders, slots);
      collectResting(market.book.asks, orders, slots);
      for (let slot = market.book.dormantHead; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) slots.push(slot);
      for (const slot of slots) {
        emit.orderState(slot);
        if (orders.tag[slot << WORD_SHIFT] !== NO_TAG) emit.tag(slot);
        if (out.lengthBytes > 1 << 19) flush();
      }
    }
    emit.ready(this.sequence, this.nowMs);
    flush();
  }

  /** `isDue` for the time of the current command; passing the time as an argument could allocate an object. */
  get #isDueNow(): boolean {
    const { expiry, markets } = this.state;
    return this.nowMs >= markets.transitions.firstMs || this.nowMs >= expiry.firstMs;
  }

  /** Runs a command that the shard itself creates. It has no reply. */
  #runOwn(type: number, words: Uint32Array, timeMs: number, mayBeEmpty = false): void {
    const start = this.out.lengthBytes;
    writeSafe(words, ANY_COMMAND.timeMs, timeMs);
    this.state.emit.record(this.sequence + 1, words, 0);
    this.#admitted.clear();
    this.#apply.run(type, words, 0, this.#admitted);
    const isEmpty = this.out.lengthBytes === start + RECORD_EVENT_BYTES;
    assert(!isEmpty || mayBeEmpty, 'ENGINE-3: a record of its own changes something');
    this.#emitDigest(this.sequence + 1);
    this.#append(words, 0, start);
  }

  #reply(requestId: number, code: number, shardSequence: number): void {
    const { detailA, detailB, detailC } = this.#admitted;
    this.state.emit.reply(this.gateway, requestId, code, shardSequence, detailA, detailB, detailC);
  }

  /** Ends the events of every DIGEST_EVERY-th record with the digest of the state. */
  #emitDigest(sequence: number): void {
    if (sequence % DIGEST_EVERY !== 0) return;
    const lanes = this.state.emit.digest();
    this.state.writeDigest(this.out.words, lanes);
  }

  #append(words: Uint32Array, word: number, start: number): void {
    this.sequence++;
    const events = start + RECORD_EVENT_BYTES;
    const row = this.#row;
    row.sequence = this.sequence;
    row.timeMs = this.nowMs;
    row.version = recordVersionOf(this.state.rules);
    row.command.set(words, word, words[word]);
    row.events.set(this.out.words, events >>> 2, this.out.lengthBytes - events);
    this.#journal.append(row);
  }
}
