/** Writes a PLACE, plain or extended, into the ring of its shard: trading/encodeOrder.ts. */
export type PlacementWriter = {
  readonly lengthBytes: number;
  /** Writes all behind the header of the command at `word`, whose words are zero. */
  writeAt(words: Uint32Array, word: number): void;
};
