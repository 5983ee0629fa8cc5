/**
 * The gateway's exchange of records with one shard: commands, events, and their comparison with the oracle.
 *
 * The oracle gets a command only when its reply arrives, so it never has to undo anything. When the shard dies, the
 * journal decides about the commands without a reply: those in it were applied, the others were not.
 *
 * Each shard's oracle has the shard's own part of every account's USDC. The visible part of the other shards is
 * recorded when a command runs, and lent to the oracle for that command.
 */
import assert from 'node:assert/strict';
import type { Engine } from '../../engine/core/engine.ts';
import type { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { JournalReader } from '../../engine/journal/reader.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import { E, OK } from '../../shared/base/errors.ts';
import { ANY_COMMAND, COMMAND } from '../../shared/wire/commands.ts';
import { decodeEvent, type Event, type EventOf } from '../../shared/wire/events.ts';
import { RecordBuffer } from '../../shared/wire/record.ts';
import { errorKey } from '../support/engine.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import type { OrderEvent } from '../support/orderEvents.ts';
import { accountOf, ask, type Command, isPlacing, type Placed, show } from './command.ts';
import type { Flow } from './flow.ts';
import type { Oracle } from './oracle.ts';
import { inRuleOrder, ShardEvents } from './shardEvents.ts';

type Sent = {
  readonly requestId: number;
  readonly command: Command;
  timeMs: number;
  /** Noted when it runs: what other shards have of its account's USDC, and when its own took it up. */
  othersMicro: bigint;
  arrivedMs: number;
};

/** A record as it was done to the oracle, so that another one can do it again. */
type Done = {
  readonly sequence: number;
  /** Null: the shard did it by itself. */
  readonly one: Sent | null;
  readonly type: number;
  readonly timeMs: number;
  /** The time of the oracle before. */
  readonly beforeMs: number;
  events: Uint32Array;
  placed: Placed | null;
};

export class Conversation {
  events = new ShardEvents();
  /** The last record that left the shard, and the last one the oracle knows of. */
  publishedSequence = 0;
  oracleSequence = 0;
  accepted = 0;
  /** Commands that ran before others that were sent earlier. */
  overtook = 0;
  #oracle: Oracle;
  readonly #flow: Flow;
  readonly #done: Done[] = [];
  /**
   * Commands without an answer when another leader came: a former leader may have run them, and have the only journal
   * left.
   */
  readonly #left = new Map<number, Sent>();
  /** Sent commands without an answer: the first `#ran` of them have run, in this order, the others still wait. */
  readonly #sent: Sent[] = [];
  #ran = 0;
  #lastRequestId = 0;
  /** The record whose events are being read, and these. */
  #record: EventOf<'RECORD'> | undefined;
  readonly #heard = new RecordBuffer(1 << 12);

  constructor(oracle: Oracle, flow: Flow) {
    this.#oracle = oracle;
    this.#flow = flow;
  }

  nextRequestId(): number {
    return this.#lastRequestId + 1;
  }

  wasSent(command: Command, timeMs: number): void {
    this.#sent.push({ requestId: ++this.#lastRequestId, timeMs, command, othersMicro: 0n, arrivedMs: 0 });
  }

  /** A command that no oracle hears of: it was sent to a leader that had been deposed. */
  wasSentInVain(requestId: number, command: Command, timeMs: number): void {
    this.#left.set(requestId, { requestId, timeMs, command, othersMicro: 0n, arrivedMs: 0 });
  }

  /** The shard is about to run this command, perhaps before others, at a time it has chosen. */
  willRun({ state: { hashes, ledger } }: Engine, requestId: number, timeMs: number, arrivedMs: number): void {
    const place = this.#sent.findIndex((sent) => sent.requestId === requestId);
    assert.ok(place >= this.#ran, 'every command runs once');
    const one = this.#sent.splice(place, 1)[0];
    this.#sent.splice(this.#ran, 0, one);
    this.#ran++;
    this.#checkOvertaking(one, timeMs, ({ hash }) => hashes.has(hash, 0));
    one.timeMs = timeMs;
    one.arrivedMs = arrivedMs;
    const account = accountOf(one.command);
    one.othersMicro = BigInt(ledger.availableMicro(account) - (ledger.netMicro[account] ?? 0));
  }

  /** LOOP-3 to LOOP-5 of shard/loop.ts: who may pass whom, and when that happens. */
  #checkOvertaking(one: Sent, timeMs: number, isKnown: (cancel: { hash: Uint32Array }) => boolean): void {
    const passed = this.#sent.slice(this.#ran).filter((sent) => sent.requestId < one.requestId && !isCancel(sent));
    if (passed.length === 0) return;
    this.overtook++;
    const { command } = one;
    assert.ok(timeMs <= passed[0].timeMs, `LOOP-5: in the time of those it passes: ${show(command)}`);
    for (const { command: waiting } of passed) {
      if (!isPlacing(waiting)) continue;
      const { account, market } = waiting.placement;
      const isNamed = 'placement' in command && waiting.placement === command.placement;
      const isOwn = isNamed && account === accountOf(command);
      if (command.kind === 'cancel' || command.kind === 'bury')
        assert.ok(!isOwn || isKnown(command), `LOOP-4: ${show(command)}`);
      else {
        assert.ok(command.kind === 'cancelMany', `LOOP-3: only cancels overtake: ${show(command)}`);
        const isCovered = account === command.account && (command.market ?? market) === market;
        assert.ok(!isCovered, `LOOP-4: ${show(command)} passes ${show(waiting)}`);
      }
    }
  }

  /** One record out of the event ring. */
  hear(words: Uint32Array, word: number): void {
    const event = this.overhear(words, word);
    if (event.name === 'PUBLISHED') return;
    if (event.name === 'RECORD' || (event.name === 'REPLY' && isOwnRecord(this.#record))) this.#heardOwn();
    if (event.name === 'RECORD') this.#record = event;
    this.#heard.appendRecords(words, word, words[word]);
    if (event.name !== 'REPLY') return;
    this.#answered(event);
    this.#heard.clear();
    this.#record = undefined;
  }

  /**
   * All events of a record that the shard wrote itself: time, the steps of markets that are being ended, and the switch
   * of rules, by which the oracle knows no difference.
   */
  #heardOwn(): void {
    if (this.#record === undefined) return;
    const { command, shardSequence, timeMs } = this.#record;
    assert.ok(isOwnRecord(this.#record), 'every event is followed by the reply of its command');
    const done = this.#begin(shardSequence, null, command, timeMs);
    this.#doOwn(command, timeMs);
    const events = this.#read(done, this.#heard.words, 0, this.#heard.lengthBytes >>> 2);
    assert.deepEqual(inRuleOrder(events), inRuleOrder(this.#oracle.events), 'something else happened by itself');
    this.oracleSequence = shardSequence;
    this.#heard.clear();
    this.#record = undefined;
  }

  #doOwn(type: number, timeMs: number): void {
    this.#oracle.at(timeMs);
    if (type === COMMAND.TICK.TYPE) this.#oracle.tick(timeMs);
    else if (type === COMMAND.STEP.TYPE) this.#oracle.step();
  }

  /** Only takes note of how far the shard says it is. */
  overhear(words: Uint32Array, word: number): Event {
    const event = decodeEvent(words, word);
    if (event.name === 'RECORD') this.publishedSequence = event.shardSequence;
    return event;
  }

  /** All events were read, and every command had its reply. */
  pause(): void {
    assert.equal(this.#sent.length, 0, 'every command is answered');
    this.#heardOwn();
    assert.equal(this.#heard.lengthBytes, 0, 'every event is followed by the reply of its command');
    this.oracleSequence = this.publishedSequence;
  }

  /** The shard died and came back: the journal decides about the commands on their way. */
  resume(engine: Engine, journalPath: string, key = TEST_KEY): void {
    this.#heard.clear();
    this.#record = undefined;
    const reader = new JournalReader(journalPath, key);
    try {
      const known = this.oracleSequence;
      if (engine.sequence > known) {
        // Refused commands of another leader, which may have moved the clock of the oracle, are not in this journal.
        this.#oracle.nowMs = this.#done.at(-1)?.timeMs ?? this.#oracle.nowMs;
        const head = reader.headBefore(reader.startOfRow(known + 1));
        reader.readFrom(head, engine.sequence - head.sequence, (record) => {
          if (record.sequence <= known) return; // published before the death, in a row with others
          this.#happened(record);
          this.oracleSequence = record.sequence;
        });
      }
    } finally {
      reader.close();
    }
    for (const one of this.#sent) {
      if (isPlacing(one.command)) this.#flow.unanswered.push(one.command.placement);
      this.#left.set(one.requestId, one);
    }
    this.#sent.length = 0;
    this.#ran = 0;
    this.publishedSequence = engine.sequence;
    // A refused command may have moved the dead engine's clock; nothing durable says so.
    this.#oracle.nowMs = engine.nowMs;
  }

  /**
   * The records after this one were given up: a new oracle replaces this one, and learns the remaining state.
   * @returns the number of records that were given up
   */
  goBack(sequence: number, oracle: Oracle): number {
    const count = Math.max(0, this.publishedSequence - sequence);
    const first = this.#done.findIndex((done) => done.sequence > sequence);
    // A member that comes back late may still have them.
    const gone = first < 0 ? [] : this.#done.splice(first);
    for (const { one } of gone) if (one !== null) this.#left.set(one.requestId, one);
    this.#oracle = oracle;
    this.#flow.oracle = oracle;
    this.events = new ShardEvents();
    for (const { one, type, timeMs, beforeMs, events } of this.#done) {
      oracle.nowMs = beforeMs;
      if (one === null) this.#doOwn(type, timeMs);
      else assert.equal(this.#ask(one, timeMs), OK, `the oracle does again what it did: ${show(one.command)}`);
      this.events.read(events, 0, events.length);
    }
    this.#flow.placed.splice(0, this.#flow.placed.length, ...this.#done.flatMap(({ placed }) => placed ?? []));
    this.oracleSequence = Math.min(this.oracleSequence, sequence);
    this.publishedSequence = sequence;
    return count;
  }

  #answered(reply: EventOf<'REPLY'>): void {
    const one = this.#take();
    assert.equal(one.requestId, reply.requestId, 'replies come in the order in which commands run');
    const done = this.#record === undefined ? null : this.#begin(this.publishedSequence, one, 0, one.timeMs);
    this.#oracle.isForgetful = ![E.DUPLICATE_ORDER, E.ORDER_NOT_CANCELLABLE].includes(reply.code);
    const code = this.#ask(one, one.timeMs);
    this.#oracle.isForgetful = true;
    const expected = this.#oracle.events;
    const events = this.#read(done, this.#heard.words, 0, this.#heard.lengthBytes >>> 2);
    const answer = errorKey(reply.code);
    const what = show(one.command);
    assert.equal(answer, errorKey(code), `answered ${answer}, the oracle says ${errorKey(code)}: ${what}`);
    assert.deepEqual(inRuleOrder(events), inRuleOrder(expected), `something else happened to ${what}`);
    const { shardSequence: sequence } = reply;
    assert.ok(sequence === 0 || sequence === this.publishedSequence, 'a reply names its record');
    if (one.command.kind === 'cancelMany') {
      assert.equal(reply.a, this.#oracle.events.filter(isUserClose).length, what);
    }
    if (code === OK && (one.command.kind === 'replace' || one.command.kind === 'bury')) {
      const said = [reply.a, reply.b];
      assert.deepEqual(said, this.#oracle.answer, what);
    }
    this.oracleSequence = this.publishedSequence;
    if (code === OK && one.command.kind !== 'tick') this.#wasAccepted(one.command, done);
  }

  /** A record of the journal whose reply was lost. */
  #happened({ sequence, timeMs, command: { words, word }, events: said }: JournalRecord): void {
    const type = words[word + ANY_COMMAND.type] & 0xffff;
    const one = isOwn(type) ? null : this.#takeOf(words[word + ANY_COMMAND.requestId]);
    const done = this.#begin(sequence, one, type, timeMs);
    if (one === null) this.#doOwn(type, timeMs);
    else assert.equal(errorKey(this.#ask(one, timeMs)), 'OK', `a journaled command: ${show(one.command)}`);
    const command: Command = one?.command ?? { kind: 'tick' };
    const events = this.#read(done, words, said.word, said.end);
    assert.deepEqual(
      inRuleOrder(events),
      inRuleOrder(this.#oracle.events),
      `something else is journaled for ${show(command)}`,
    );
    this.#wasAccepted(command, done);
  }

  /** Finds the command of a record whose reply was lost: commands sent before it that are not there never ran. */
  #takeOf(requestId: number): Sent {
    const left = this.#left.get(requestId);
    if (left !== undefined) return left;
    let one = this.#take();
    while (one.requestId !== requestId) one = this.#take();
    return one;
  }

  #begin(sequence: number, one: Sent | null, type: number, timeMs: number): Done {
    const done: Done = {
      ...{ sequence, one, type, timeMs, beforeMs: this.#oracle.nowMs },
      ...{ events: new Uint32Array(), placed: null },
    };
    this.#done.push(done);
    return done;
  }

  #read(done: Done | null, words: Uint32Array, from: number, end: number): OrderEvent[] {
    if (done !== null) done.events = words.slice(from, end);
    return this.events.read(words, from, end);
  }

  #take(): Sent {
    const one = this.#sent.shift();
    assert.ok(one !== undefined, 'SIMSHARD-1: every record belongs to a command that was sent');
    this.#ran--;
    return one;
  }

  #ask(one: Sent, timeMs: number): number {
    this.#oracle.at(timeMs);
    assert.ok(isCancel(one) || !this.#oracle.isDue, `ENGINE-3: what is due comes before ${show(one.command)}`);
    this.#oracle.elsewhere = one.othersMicro;
    this.#oracle.arrivedMs = one.arrivedMs;
    return ask(this.#oracle, one.command);
  }

  #wasAccepted(command: Command, done: Done | null): void {
    this.accepted++;
    if (!isPlacing(command)) return;
    const placed = { ...this.events.accepted!, placement: command.placement, domain: this.#oracle.domain };
    this.#flow.placed.push(placed);
    if (done !== null) done.placed = placed;
  }
}

const isUserClose = (event: OrderEvent): boolean => event.kind === 'closed' && event.reason === CLOSE_REASON.USER;
const isCancel = ({ command }: Sent): boolean => ['cancel', 'cancelMany', 'bury'].includes(command.kind);
const OWN: readonly number[] = [COMMAND.TICK.TYPE, COMMAND.STEP.TYPE, COMMAND.RULES.TYPE];
const isOwn = (type: number): boolean => OWN.includes(type);
const isOwnRecord = (record: EventOf<'RECORD'> | undefined): boolean => record !== undefined && isOwn(record.command);
