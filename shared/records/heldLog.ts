/** The interface through which one stream's records get into the replicated log. */
export type RecordLog = {
  put(sequence: number, bytes: Uint8Array): void;
  /** The last record that the log holds. */
  held(): number;
};

export type HeldLog = RecordLog & {
  /**
   * Rejects if it is unknown whether the log will hold the record: the log cannot be written, or another member leads.
   */
  whenHeld(sequence: number): Promise<void>;
};
