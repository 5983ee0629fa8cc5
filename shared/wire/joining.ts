/** The files of a member of a cluster before they are opened, and the copy of them for one that joins. */

/** A file with records of a stream (shared/records/), before it is opened. */
export type RecordsToRejoin = {
  readonly path: string;
  readonly stream: number;
  /** It keeps what takes its records back; another one takes back what it has to by itself, as rows of the log come. */
  readonly hasUndo: boolean;
};

export type DirectoryToPrepare = {
  readonly directory: string;
  readonly shards: number;
  readonly masterKey: Uint8Array;
  readonly records: readonly RecordsToRejoin[];
};

/** A copy of control.db for a member that joins. */
export type ControlCopy = {
  readonly path: string;
  /** It has this record. */
  readonly atLeast: number;
};
