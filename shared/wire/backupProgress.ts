/** The progress of a backup: its program sends it to the exchange that has started it. */
export type BackupProgress = {
  /** Bytes of the data directory that are read. */
  readonly readBytes: number;
  readonly directoryBytes: number;
};
