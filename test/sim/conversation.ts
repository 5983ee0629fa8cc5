/**
 * The gateway's talk with one shard: what was sent, what came back, and whether the oracle says the same.
 *
 * The oracle is told of a command only when its answer arrives, so it never has to forget anything. What was on its way
 * when the shard died is decided by the journal: what is in there happened, the rest did not.
 *
 * Each shard's oracle has the shard's own part of every account's USDC. What the other shards leave visible of theirs
 * is noted when a command runs, and lent to the oracle for that one command.
 */
import assert from 'node:assert/strict';
import type { Engine } from '../../engine/engine.ts';
import { JournalReader } from '../../engine/journalReader.ts';
import { CLOSE_REASON } from '../../shared/codes.ts';
import { CMD_REQUEST, CMD_TYPE, COMMAND } from '../../shared/commands.ts';
import { OK } from '../../shared/errors.ts';
import * as ev from '../../shared/events.ts';
import { RecordBuffer, readSafe } from '../../shared/record.ts';
import { errorKey, type Told } from '../support/engine.ts';
import { accountOf, ask, type Command, isPlacing, show } from './command.ts';
import type { Flow } from './flow.ts';
import type { Oracle } from './oracle.ts';
import { inRuleOrder, ToldReader } from './told.ts';

type Sent = {
  readonly requestId: number;
  readonly command: Command;
  timeMs: number;
  /** Noted when it runs: what other shards have of its account's USDC, and when its own took it up. */
  othersMicro: bigint;
  arrivedMs: number;
};

export class Conversation {
  readonly told = new ToldReader();
  /** The last record that left the shard, and the last one the oracle knows of. */
  publishedSequence = 0;
  toldSequence = 0;
  accepted = 0;
  /** Commands that ran before others that were sent earlier. */
  overtook = 0;
  readonly #oracle: Oracle;
  readonly #flow: Flow;
  /** Sent and not answered: the first `#ran` of them have run, in this order, the others wait as they were sent. */
  readonly #sent: Sent[] = [];
  #ran = 0;
  #lastRequestId = 0;
  /** Events since the last reply. */
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
    const one = this.#sent.splice(place, 1)[0]!;
    this.#sent.splice(this.#ran, 0, one);
    this.#ran++;
    this.#checkOvertaking(one, timeMs, ({ hash }) => hashes.find(hash, 0));
    one.timeMs = timeMs;
    one.arrivedMs = arrivedMs;
    const account = accountOf(one.command);
    one.othersMicro = BigInt(ledger.availableMicro(account) - (ledger.netMicro[account] ?? 0));
  }

  /** S4 to S6 of shardLoop.ts: who may pass whom, and when that happens. */
  #checkOvertaking(one: Sent, timeMs: number, isKnown: (cancel: { hash: Uint32Array }) => boolean): void {
    const passed = this.#sent.slice(this.#ran).filter((sent) => sent.requestId < one.requestId && !isCancel(sent));
    if (passed.length === 0) return;
    this.overtook++;
    const { command } = one;
    assert.ok(timeMs <= passed[0]!.timeMs, `S6: in the time of those it passes: ${show(command)}`);
    for (const { command: waiting } of passed) {
      if (!isPlacing(waiting)) continue;
      const { account, market } = waiting.placement;
      const isNamed = 'placement' in command && waiting.placement === command.placement;
      const isOwn = isNamed && account === accountOf(command);
      if (command.kind === 'cancel' || command.kind === 'bury')
        assert.ok(!isOwn || isKnown(command), `S5: ${show(command)}`);
      else {
        assert.ok(command.kind === 'cancelMany', `S4: only cancels overtake: ${show(command)}`);
        const isCovered = account === command.account && (command.market ?? market) === market;
        assert.ok(!isCovered, `S5: ${show(command)} passes ${show(waiting)}`);
      }
    }
  }

  /** One record out of the event ring. */
  hear(words: Uint32Array, word: number): void {
    const type = this.overhear(words, word);
    this.#heard.appendRecords(words, word, words[word]!);
    if (type !== ev.EVENT.REPLY) return;
    this.#answered(words, word);
    this.#heard.clear();
  }

  /** Only takes note of how far the shard says it is. */
  overhear(words: Uint32Array, word: number): number {
    const type = ev.typeOf(words[word + ev.EV_TYPE]!);
    if (type === ev.EVENT.RECORD) this.publishedSequence = readSafe(words, word + ev.RECORD_SEQUENCE);
    return type;
  }

  /** Everything was heard: what is left had no reply, because it was only time that passed. */
  pause(): void {
    const expected: Told[] = [];
    while (this.#sent.length > 0) expected.push(...this.#tick(this.#take()));
    const told = this.told.read(this.#heard.words, 0, this.#heard.lengthBytes >>> 2);
    assert.deepEqual(inRuleOrder(told), inRuleOrder(expected), 'what time did');
    this.#heard.clear();
    this.toldSequence = this.publishedSequence;
  }

  /** The shard died and came back: the journal says what became of what was on its way. */
  resume(engine: Engine, journalPath: string): void {
    this.#heard.clear();
    const reader = new JournalReader(journalPath);
    try {
      const count = engine.sequence - this.toldSequence;
      if (count > 0) {
        const head = reader.headBefore(this.toldSequence + 1);
        reader.readFrom(head, count, (sequence, timeMs, words, commandWord, _bytes, eventWord, eventBytes) => {
          this.#happened(timeMs, words, commandWord, eventWord, eventWord + (eventBytes >>> 2));
          this.toldSequence = sequence;
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

  #answered(words: Uint32Array, word: number): void {
    const expected: Told[] = [];
    let one = this.#take();
    for (; one.command.kind === 'tick'; one = this.#take()) expected.push(...this.#tick(one));
    assert.equal(one.requestId, words[word + ev.REPLY_REQUEST], 'replies come in the order in which commands run');
    const code = this.#ask(one, one.timeMs);
    expected.push(...this.#oracle.told);
    const told = this.told.read(this.#heard.words, 0, this.#heard.lengthBytes >>> 2);
    const answer = errorKey(words[word + ev.EV_FLAGS]!);
    const what = show(one.command);
    assert.equal(answer, errorKey(code), `answered ${answer}, the oracle says ${errorKey(code)}: ${what}`);
    assert.deepEqual(inRuleOrder(told), inRuleOrder(expected), `something else happened to ${what}`);
    const sequence = readSafe(words, word + ev.REPLY_SEQUENCE);
    assert.ok(sequence === 0 || sequence === this.publishedSequence, 'a reply names its record');
    if (one.command.kind === 'cancelMany') {
      assert.equal(readSafe(words, word + ev.REPLY_A), this.#oracle.told.filter(isUserClose).length, what);
    }
    if (code === OK && (one.command.kind === 'replace' || one.command.kind === 'bury')) {
      const said = [readSafe(words, word + ev.REPLY_A), readSafe(words, word + ev.REPLY_B)];
      assert.deepEqual(said, this.#oracle.answer, what);
    }
    this.toldSequence = this.publishedSequence;
    if (code === OK) this.#wasAccepted(one.command);
  }

  /** A record of the journal whose answer nobody heard. */
  #happened(timeMs: number, words: Uint32Array, commandWord: number, eventWord: number, end: number): void {
    const isTick = (words[commandWord + CMD_TYPE]! & 0xffff) === COMMAND.TICK;
    let command: Command = { kind: 'tick' };
    if (isTick) this.#oracle.advance(timeMs);
    else {
      const requestId = words[commandWord + CMD_REQUEST]!;
      let one = this.#take();
      while (one.requestId !== requestId) one = this.#take();
      assert.equal(errorKey(this.#ask(one, timeMs)), 'OK', `a journaled command: ${show(one.command)}`);
      command = one.command;
    }
    const told = this.told.read(words, eventWord, end);
    assert.deepEqual(
      inRuleOrder(told),
      inRuleOrder(this.#oracle.told),
      `something else is journaled for ${show(command)}`,
    );
    this.#wasAccepted(command);
  }

  #tick(one: Sent): readonly Told[] {
    assert.equal(one.command.kind, 'tick', 'only a tick has no reply');
    this.#oracle.advance(one.timeMs);
    return this.#oracle.told;
  }

  #take(): Sent {
    const one = this.#sent.shift();
    assert.ok(one !== undefined, 'V1: the shard tells of nothing that was not sent');
    this.#ran--;
    return one;
  }

  #ask(one: Sent, timeMs: number): number {
    this.#oracle.advance(timeMs);
    this.#oracle.elsewhere = one.othersMicro;
    this.#oracle.arrivedMs = one.arrivedMs;
    return ask(this.#oracle, one.command);
  }

  #wasAccepted(command: Command): void {
    this.accepted++;
    if (!isPlacing(command)) return;
    this.#flow.placed.push({ ...this.told.accepted!, placement: command.placement, domain: this.#oracle.domain });
  }
}

const isUserClose = (event: Told): boolean => event.kind === 'closed' && event.reason === CLOSE_REASON.USER;
const isCancel = ({ command }: Sent): boolean => ['cancel', 'cancelMany', 'bury'].includes(command.kind);
