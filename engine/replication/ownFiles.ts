/**
 * This member's files, as far as the replication thread handles them: it prepares them before anything opens them, and
 * copies them for a joining member. Owner: the replication thread.
 */
import type { DirectoryToPrepare } from '../../shared/wire/joining.ts';
import type { JournalsToRejoin, ReplicationMessage, ReplicationOptions } from '../../shared/wire/threads.ts';
import { FileEnds } from './fileEnds.ts';
import { Giver } from './giver.ts';
import { HeldMark, readHeldMark } from './heldMark.ts';
import { leaveReason } from './joiningFiles.ts';
import { rejoinJournals } from './journals.ts';
import { LostRowsError } from './log.ts';
import { type Decision, decisionOf, forgetHeads, headsOf, reportHeads } from './memberHeads.ts';
import type { StartReads } from './patientReads.ts';
import type { PostgresLog } from './postgresLog.ts';
import { prepareDirectory } from './prepare.ts';
import { lackedBy } from './standing.ts';

export class OwnFiles {
  readonly #options: ConstructorParameters<typeof Giver>[0]['options'];
  readonly #log: PostgresLog;
  readonly #post: (message: ReplicationMessage) => void;
  /** Null before the files are ready. */
  mark: HeldMark | null = null;
  /** Null before the files are ready. */
  ends: FileEnds | null = null;
  #prepared: DirectoryToPrepare | null = null;
  /** Why rows that only this machine has were never acknowledged (standing.ts). */
  #proof: string | null = null;
  #giver: Giver | null = null;
  #isStopped = false;

  constructor(options: ReplicationOptions, log: PostgresLog, post: (message: ReplicationMessage) => void) {
    this.#options = options;
    this.#log = log;
    this.#post = post;
  }

  /** @returns lines about files that were set aside or copied */
  async prepare(directory: DirectoryToPrepare, reads: StartReads): Promise<readonly string[]> {
    const { cluster, holder } = this.#options;
    const onNews = (news: string): void => this.#post({ news });
    const onDamagedMark = (damagedMark: string): void => this.#post({ damagedMark });
    const isStopped = (): boolean => this.#isStopped;
    const decision = async (log: string): Promise<Decision> => {
      return decisionOf(this.#log, this.#options, log, await headsOf(directory, readHeldMark(directory.directory), []));
    };
    const options = {
      ...directory,
      log: this.#log,
      reads,
      cluster,
      holder,
      decision,
      onNews,
      onDamagedMark,
      isStopped,
    };
    const { lines, log, proof } = await prepareDirectory(options).catch(async (error) => {
      if (error instanceof LostRowsError) await this.#report(directory, reads, error.message);
      throw error;
    });
    await forgetHeads(this.#log, this.#options);
    this.#prepared = directory;
    this.#proof = proof;
    const mark = new HeldMark(directory.directory, log);
    this.mark = mark;
    this.ends = new FileEnds({ ...directory, log: this.#log });
    this.#log.watchServer((place) => mark.sendTo(place));
    return lines;
  }

  /** Reports to the operator what this member has (HEADS-1). */
  async #report(files: DirectoryToPrepare, reads: StartReads, reason: string): Promise<void> {
    const own = await headsOf(files, readHeldMark(files.directory), await lackedBy(files, reads));
    await reportHeads(this.#log, { ...this.#options, reason }, files, own);
  }

  /** Does the same for the journals: no row that may have been held is set aside. */
  rejoin(journals: JournalsToRejoin, reads: StartReads): Promise<readonly string[]> {
    return rejoinJournals(reads, journals, this.#proof);
  }

  /**
   * Called every second by a member that follows or leads.
   * @param agrees returns true if the log has what this member has
   */
  async look(isLeader: boolean, agrees: () => Promise<boolean>): Promise<void> {
    if (this.#prepared === null || !(await agrees())) return;
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

  /** Makes the next start join anew. */
  leave(reason: string): void {
    if (this.#prepared !== null) leaveReason(this.#prepared.directory, reason);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.ends?.close();
    await this.#giver?.stop();
  }
}
