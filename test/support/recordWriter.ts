/** A finished PLACE record as the writer of an order that the client of the shards takes. */
import type { PlacementWriter } from '../../gateway/shardlink/placementWriter.ts';
import { ANY_COMMAND } from '../../shared/wire/commands.ts';

export class RecordWriter implements PlacementWriter {
  readonly lengthBytes: number;
  readonly #record: Uint32Array;

  constructor(record: Uint32Array) {
    this.lengthBytes = record.byteLength;
    this.#record = record;
  }

  writeAt(words: Uint32Array, word: number): void {
    words.set(this.#record.subarray(ANY_COMMAND.WORDS), word + ANY_COMMAND.WORDS);
  }
}

/** The record that a writer writes. */
export function recordOf(writer: PlacementWriter): Uint32Array {
  const words = new Uint32Array(writer.lengthBytes / 4);
  writer.writeAt(words, 0);
  return words;
}
