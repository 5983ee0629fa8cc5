/** The options of the history thread, and its messages. */
import type { JournalKey } from '../base/journalKey.ts';

export type HistoryOptions = {
  readonly journalPaths: readonly string[];
  readonly journalKey: JournalKey;
  /** Of the snapshots. */
  readonly directory: string;
  readonly historyDir: string;
  readonly progress: SharedArrayBuffer;
};

/** A line for the log. */
export type HistoryMessage = { readonly news: string } | { readonly published: string };
