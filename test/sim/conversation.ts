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
import { JournalReader } from '../../engine/journal/reader.ts';
import { CLOSE_REASON } from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { ANY_COMMAND, COMMAND } from '../../shared/wire/commands.ts';
import { decodeEvent, type Event, type EventOf } from '../../shared/wire/events.ts';
import { RecordBuffer } from '../../shared/wire/record.ts';
import { errorKey } from '../support/engine.ts';
import { TEST_KEY } from '../support/journalKey.ts';
import type { OrderEvent } from '../support/orderEvents.ts';
import { accountOf, ask, type Command, isPlacing, show } from './command.ts';
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

export class Conversation {
  readonly events = new ShardEvents();
  /** The last record that left the shard, and the last one the oracle knows of. */
  publishedSequence = 0;
  oracleSequence = 0;
  accepted = 0;
  /** Commands that ran before others that were sent earlier. */
  overtook = 0;
  readonly #oracle: Oracle;
  readonly #flow: Flow;
  /** Sent and not answered: the first `#ran` of them have run, in this order, the others wait as they were sent. */
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

  /** All events of a record that the shard wrote itself: time, and the steps of markets that are being ended. */
  #heardOwn(): void {
    if (this.#record === undefined) return;
    const { command, shardSequence, timeMs } = this.#record;
    assert.ok(isOwnRecord(this.#record), 'every event is followed by the reply of its command');
    this.#doOwn(command, timeMs);
    const events = this.events.read(this.#heard.words, 0, this.#heard.lengthBytes >>> 2);
    assert.deepEqual(inRuleOrder(events), inRuleOrder(this.#oracle.events), 'something else happened by itself');
    this.oracleSequence = shardSequence;
    this.#heard.clear();
    this.#record = undefined;
  }

  #doOwn(type: number, timeMs: number): void {
    this.#oracle.at(timeMs);
    if (type === COMMAND.TICK.TYPE) this.#oracle.tick(timeMs);
    else this.#oracle.step();
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

  /** The shard died and came back: the journal says what became of what was on its way. */
  resume(engine: Engine, journalPath: string): void {
    this.#heard.clear();
    this.#record = undefined;
    const reader = new JournalReader(journalPath, TEST_KEY);
    try {
      const known = this.oracleSequence;
      if (engine.sequence > known) {
        const head = reader.headBefore(reader.startOfRow(known + 1));
        reader.readFrom(head, engine.sequence - head.sequence, ({ sequence, timeMs, command, events }) => {
          if (sequence <= known) return; // published before the death, in a row with others
          this.#happened(timeMs, command.words, command.word, events.word, events.end);
          this.oracleSequence = sequence;
        });
      }
    } finally {
      reader.close();
    }
    for (const { command } of this.#sent) if (isPlacing(command)) this.#flow.unanswered.push(command.placement);
    this.#sent.length = 0;
    this.#ran = 0;
    this.publishedSequence = engine.sequence;
    // A refused command may have moved the dead engine's clock; nothing durable says so.
    this.#oracle.nowMs = engine.nowMs;
  }

  #answered(reply: EventOf<'REPLY'>): void {
    const one = this.#take();
    assert.equal(one.requestId, reply.requestId, 'replies come in the order in which commands run');
    const code = this.#ask(one, one.timeMs);
    const expected = this.#oracle.events;
    const events = this.events.read(this.#heard.words, 0, this.#heard.lengthBytes >>> 2);
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
    if (code === OK && one.command.kind !== 'tick') this.#wasAccepted(one.command);
  }

  /** A record of the journal whose reply was lost. */
  #happened(timeMs: number, words: Uint32Array, commandWord: number, eventWord: number, end: number): void {
    const type = words[commandWord + ANY_COMMAND.type] & 0xffff;
    let command: Command = { kind: 'tick' };
    if (isOwn(type)) this.#doOwn(type, timeMs);
    else {
      const requestId = words[commandWord + ANY_COMMAND.requestId];
      let one = this.#take();
      while (one.requestId !== requestId) one = this.#take();
      assert.equal(errorKey(this.#ask(one, timeMs)), 'OK', `a journaled command: ${show(one.command)}`);
      command = one.command;
    }
    const events = this.events.read(words, eventWord, end);
    assert.deepEqual(
      inRuleOrder(events),
      inRuleOrder(this.#oracle.events),
      `something else is journaled for ${show(command)}`,
    );
    this.#wasAccepted(command);
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

  #wasAccepted(command: Command): void {
    this.accepted++;
    if (!isPlacing(command)) return;
    this.#flow.placed.push({ ...this.events.accepted!, placement: command.placement, domain: this.#oracle.domain });
  }
}

const isUserClose = (event: OrderEvent): boolean => event.kind === 'closed' && event.reason === CLOSE_REASON.USER;
const isCancel = ({ command }: Sent): boolean => ['cancel', 'cancelMany', 'bury'].includes(command.kind);
const isOwn = (type: number): boolean => type === COMMAND.TICK.TYPE || type === COMMAND.STEP.TYPE;
const isOwnRecord = (record: EventOf<'RECORD'> | undefined): boolean => record !== undefined && isOwn(record.command);
