/**
 * Checks whether a member asks for a copy of another member's files, and starts the thread that gives it
 * (givingMain.ts), one at a time. A standby gives the copy so that the leader is not burdened; the leader gives it
 * while there is no standby. Owner: the replication thread.
 */
import { Worker } from 'node:worker_threads';
import { FORMATS } from '../../shared/base/formats.ts';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import type { ControlCopy } from '../../shared/wire/joining.ts';
import type { ReplicationOptions, StreamEnd } from '../../shared/wire/threads.ts';
import type { Allowed } from './connection.ts';
import { type Attempt, CopyTable, type Reader } from './copyTable.ts';

/** Where the log is, and what its database may lack. */
type LogAddress = Pick<ReplicationOptions, 'url' | 'cluster'> & Allowed;

export type GiveOptions = LogAddress & {
  readonly attempt: Attempt;
  readonly directory: string;
  readonly shards: number;
  readonly ends: ReadonlyMap<number, number>;
};

type GiverOptions = {
  readonly options: LogAddress & Pick<ReplicationOptions, 'holder'>;
  readonly log: Reader & { ends(): Promise<readonly StreamEnd[]> };
  readonly directory: string;
  readonly shards: number;
  /** Asks the gateway for a copy of control.db, which `copied` answers. */
  readonly askControl: (copy: ControlCopy) => void;
  readonly onNews: (text: string) => void;
};

type Message = { readonly copyControl: ControlCopy } | { readonly failed: string };

export class Giver {
  readonly #options: GiverOptions;
  readonly #table: CopyTable;
  #worker: Worker | null = null;
  /** The attempt for which the worker gives a copy. */
  #attempt: Attempt | null = null;
  #isStopped = false;

  constructor(options: GiverOptions) {
    this.#options = options;
    this.#table = new CopyTable(options.log, options.options.cluster);
  }

  /** Called now and then by a member that follows or leads. */
  async look(isLeader: boolean): Promise<void> {
    const { options, log } = this.#options;
    if (this.#isStopped) return;
    if (this.#attempt !== null) {
      // The worker cannot report its presence itself while SQLite copies a long database, or while the processors are
      // busy.
      await this.#table.giving(this.#attempt);
      return;
    }
    const attempt = await this.#table.claim(options.holder, isLeader, FORMATS.files.newest);
    if (attempt === null) return;
    const ends = new Map((await log.ends()).map(({ stream, sequence }) => [stream, sequence]));
    if (!this.#isStopped) this.#launch(attempt, ends);
  }

  /** The gateway has copied control.db, or could not. */
  copied(problem: string | null): void {
    this.#worker?.postMessage(problem);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#worker?.terminate();
  }

  #launch(attempt: Attempt, ends: ReadonlyMap<number, number>): void {
    const { options, directory, shards, askControl, onNews } = this.#options;
    const { url, cluster, isUnreplicatedAllowed, isUnsyncedAllowed } = options;
    const address = { url, cluster, isUnreplicatedAllowed, isUnsyncedAllowed };
    const workerData: GiveOptions = { ...address, attempt, directory, shards, ends };
    const worker = new Worker(new URL('./givingMain.ts', import.meta.url), {
      workerData,
      name: 'giving',
      execArgv: STRIPPED_BEFORE,
    });
    this.#worker = worker;
    this.#attempt = attempt;
    onNews(`${attempt.holder} joins, and gets a copy of the files of this member`);
    worker.on('message', (message: Message) => {
      if ('copyControl' in message) askControl(message.copyControl);
      else onNews(`the copy for ${attempt.holder} has failed: ${message.failed}`);
    });
    worker.once('error', ({ message }) => onNews(`the copy for ${attempt.holder} has failed: ${message}`));
    worker.once('exit', () => {
      this.#worker = null;
      this.#attempt = null;
    });
  }
}
