/**
 * A record of a journal in memory: the engine passes it to the journal, and a journal passes it to a replay. One view
 * serves many records, so that nothing is allocated per record. Code that keeps a record makes a copy of it.
 */
import { RECORD_VERSION } from '../../shared/wire/version.ts';

/** Finished wire records, back to back: `bytes` long from `word` on. */
class RecordSpan {
  words: Uint32Array = new Uint32Array(0);
  word = 0;
  bytes = 0;

  set(words: Uint32Array, word: number, bytes: number): void {
    this.words = words;
    this.word = word;
    this.bytes = bytes;
  }

  /** The word after the last record. */
  get end(): number {
    return this.word + (this.bytes >>> 2);
  }
}

export class JournalRecord {
  /** The shard's sequence number. */
  sequence = 0;
  timeMs = 0;
  /** In which the journal has its command and events; in memory they have the newest (shared/wire/ages.ts). */
  version = RECORD_VERSION;
  /** One command, and the events it caused. */
  readonly command = new RecordSpan();
  readonly events = new RecordSpan();

  /** A copy of this record in its own memory. */
  copy(): JournalRecord {
    const { command, events } = this;
    const words = new Uint32Array((command.bytes + events.bytes) >>> 2);
    const eventWord = command.bytes >>> 2;
    words.set(command.words.subarray(command.word, command.end));
    words.set(events.words.subarray(events.word, events.end), eventWord);
    const copy = new JournalRecord();
    copy.sequence = this.sequence;
    copy.timeMs = this.timeMs;
    copy.version = this.version;
    copy.command.set(words, 0, command.bytes);
    copy.events.set(words, eventWord, events.bytes);
    return copy;
  }
}

export type RecordVisitor = (record: JournalRecord) => void;
