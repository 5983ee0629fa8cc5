/**
 * The files of this member, as far as the replication thread has to do with them: they are made ready before anything
 * opens them, and are copied for a member that joins.
 * Owner: the replication thread.
 */
import type { DirectoryToPrepare } from '../../shared/wire/joining.ts';
import type { ReplicationMessage, ReplicationOptions } from '../../shared/wire/threads.ts';
import { Giver } from './giver.ts';
import { leaveReason } from './joiningFiles.ts';
import type { StartReads } from './patientReads.ts';
import type { PostgresLog } from './postgresLog.ts';
import { prepareDirectory } from './prepare.ts';

export class OwnFiles {
  readonly #options: ConstructorParameters<typeof Giver>[0]['options'];
  readonly #log: PostgresLog;
  readonly #post: (message: ReplicationMessage) => void;
  #prepared: DirectoryToPrepare | null = null;
  #giver: Giver | null = null;
  #isStopped = false;

  constructor(options: ReplicationOptions, log: PostgresLog, post: (message: ReplicationMessage) => void) {
    this.#options = options;
    this.#log = log;
    this.#post = post;
  }

  /** @returns lines about what was set aside or copied. */
  async prepare(directory: DirectoryToPrepare, reads: StartReads): Promise<string[]> {
    const { cluster, holder } = this.#options;
    this.#prepared = directory;
    const onNews = (news: string): void => this.#post({ news });
    const isStopped = (): boolean => this.#isStopped;
    return prepareDirectory({ ...directory, log: this.#log, reads, cluster, holder, onNews, isStopped });
  }

  /** Called each second by a member that follows or leads. */
  async look(isLeader: boolean): Promise<void> {
    if (this.#prepared === null) return;
    const { directory, shards } = this.#prepared;
    this.#giver ??= new Giver({
      options: this.#options,
      log: this.#log,
      directory,
      shards,
      askControl: (copyControl) => this.#post({ copyControl }),
      onNews: (news) => this.#post({ news }),
    });
    await this.#giver.look(isLeader);
  }

  copied(problem: string | null): void {
    this.#giver?.copied(problem);
  }

  /** The next start joins anew. */
  leave(reason: string): void {
    if (this.#prepared !== null) leaveReason(this.#prepared.directory, reason);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#giver?.stop();
  }
}
