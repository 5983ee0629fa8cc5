/** The progress of a backup, which its program sends to the exchange that started it. */
export type BackupProgress = {
  /** The bytes of the data directory that have been read. */
  readonly readBytes: number;
  readonly directoryBytes: number;
};
