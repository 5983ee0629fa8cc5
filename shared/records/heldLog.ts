/** The way of one stream's records into the replicated log. */
export type RecordLog = {
  put(sequence: number, bytes: Uint8Array): void;
  /** The last record that the log holds. */
  held(): number;
};

export type HeldLog = RecordLog & {
  /** Rejects when it is not known whether the log will hold it: it cannot be written, or another member leads. */
  whenHeld(sequence: number): Promise<void>;
};
