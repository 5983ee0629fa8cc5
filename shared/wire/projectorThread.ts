/** The options of the projector's thread beside those of its files, and its messages to the gateway. */
import type { MessagePort } from 'node:worker_threads';

/** The projector's end of its channel to the gateway (catalogPage.ts): it is transferred, so each run has its own. */
export type ProjectorPort = {
  readonly catalogPort: MessagePort;
  /** True if read.db contradicts the journals: it is set aside and rebuilt. */
  readonly makesAnew: boolean;
  /** The time for which an order without a fill stays in read.db after its end. */
  readonly unfilledKeptMs: number;
};

export type ProjectorMessage =
  /** The read model had a different quantity of tokens than the engine. */
  | { readonly difference: Readonly<Record<string, string | number>> }
  /** Sent at each start: why the system refuses read.db, or null; a file of another history is rebuilt. */
  | ({ readonly refused: string | null } | { readonly doesNotGoOnWith: string })
  /** For the log. */
  | { readonly news: string };
