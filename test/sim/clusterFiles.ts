/**
 * The files of one member of a simulated cluster, as its replication thread uses them: the real start and the real mark
 * of held rows, with a copy of another member's files that arrives at once.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { FileEnds } from '../../engine/replication/fileEnds.ts';
import { HeldMark, readHeldMark } from '../../engine/replication/heldMark.ts';
import { leaveReason } from '../../engine/replication/joiningFiles.ts';
import { rejoinJournals } from '../../engine/replication/journals.ts';
import { LostRowsError, NotAMemberError, type WrittenPlace } from '../../engine/replication/log.ts';
import { decisionOf, forgetHeads, headsOf, reportHeads } from '../../engine/replication/memberHeads.ts';
import type { OwnFiles } from '../../engine/replication/ownFiles.ts';
import type { StartReads } from '../../engine/replication/patientReads.ts';
import { prepareDirectory } from '../../engine/replication/prepare.ts';
import { rejoinRecords } from '../../engine/replication/records.ts';
import { lackedBy } from '../../engine/replication/standing.ts';
import type { DirectoryToPrepare } from '../../shared/wire/joining.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { JournalsToRejoin } from '../../shared/wire/threads.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import type { FakeLog } from '../support/fakeLog.ts';
import { writeTestKey } from '../support/journalKey.ts';
import type { SimGateway } from './clusterGateway.ts';

const MARK_FILE = 'held.mark';
/** One in this many kills of a member comes in the middle of a write of its mark. */
const TORN_EVERY = 3;

type Files = Pick<OwnFiles, 'mark' | 'prepare' | 'rejoin' | 'look' | 'copied' | 'leave' | 'stop'>;

type Options = {
  readonly directory: string;
  readonly name: string;
  readonly gateway: SimGateway;
  readonly log: FakeLog;
  readonly database: FakeDatabase;
  /** A member that gives a copy of its files, or none. */
  readonly giver: () => { readonly directory: string; readonly gateway: SimGateway } | undefined;
};

/** An empty disk of a machine of the cluster. */
export function makeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  writeTestKey(directory);
}

/** A mark that knows what a loss of power leaves of it. */
class SimMark extends HeldMark {
  synced: Buffer = Buffer.alloc(0);
  readonly #path: string;

  constructor(directory: string, log: string) {
    super(directory, log);
    this.#path = join(directory, MARK_FILE);
    this.#keep();
  }

  override follow(): void {
    super.follow();
    this.#keep();
  }

  override lead(own: { readonly epoch: number; readonly lead: number }): void {
    super.lead(own);
    this.#keep();
  }

  override sendTo(place: WrittenPlace): void {
    super.sendTo(place);
    this.#keep();
  }

  /** Syncs at once: a seed does not decide when a disk answers. */
  override async sync(): Promise<void> {
    this.#keep();
  }

  /** HELDMARK-3: then the file is another, older one. */
  losePower(): void {
    this.close();
    writeFileSync(`${this.#path}.synced`, this.synced, { mode: 0o600 });
    renameSync(`${this.#path}.synced`, this.#path);
  }

  /** The write of the next copy, over the older one, was interrupted: no reader learned its content. */
  tear(): void {
    const text = readFileSync(this.#path, 'latin1');
    const numbers = [...text.matchAll(/"number":(\d+)/g)].map(({ 1: number, index }) => ({
      number: Number(number),
      index,
    }));
    const older = numbers.sort((a, b) => a.number - b.number)[0]!;
    const fd = openSync(this.#path, 'r+');
    writeSync(fd, 'torn', older.index);
    closeSync(fd);
  }

  #keep(): void {
    this.synced = readFileSync(this.#path);
  }
}

export class SimFiles implements Files {
  mark: SimMark | null = null;
  ends: FileEnds | null = null;
  /** Copies of another member's files. */
  copies = 0;
  readonly #options: Options;
  #proof: string | null = null;
  #kills = 0;
  /** The last kill came in the middle of a write of the mark. */
  #isTorn = false;

  constructor(options: Options) {
    this.#options = options;
  }

  async prepare(prepared: DirectoryToPrepare, reads: StartReads): Promise<readonly string[]> {
    const { directory, log, name, database } = this.#options;
    const { heads } = database;
    const of = { cluster: '', holder: name };
    // The copy comes without the way through the database: as if the process had been asked to stop before.
    const copying = { cluster: '', holder: name, onNews: () => {}, isStopped: () => true, log: log as never };
    const onDamagedMark = (): void => assert.ok(this.#isTorn, 'HELDMARK-2: only a kill in a write leaves a torn copy');
    const decision = async (id: string) => decisionOf(heads, of, id, await this.#heads(prepared, []));
    const found = await prepareDirectory({ ...prepared, reads, decision, onDamagedMark, ...copying }).catch(
      async (error) => {
        if (error instanceof LostRowsError) {
          const own = await this.#heads(prepared, await lackedBy(prepared, reads));
          await reportHeads(heads, { ...of, reason: error.message }, prepared, own);
          database.refuse(name, true);
        }
        throw error;
      },
    );
    await forgetHeads(heads, of);
    database.refuse(name, false);
    this.#proof = found.proof;
    const isCopied = !existsSync(join(directory, 'control.db')) && (await hasControl(reads));
    if (isCopied) {
      this.#copy();
      await rejoinRecords(reads, prepared.records, found.proof);
    }
    this.#isTorn = false;
    const mark = new SimMark(directory, found.log);
    this.mark = mark;
    this.ends = new FileEnds({ ...prepared, log });
    log.watchServer((place) => mark.sendTo(place));
    return found.lines;
  }

  rejoin(journals: JournalsToRejoin, reads: StartReads): Promise<readonly string[]> {
    return rejoinJournals(reads, journals, this.#proof);
  }

  async look(): Promise<void> {}

  copied(): void {}

  leave(reason: string): void {
    leaveReason(this.#options.directory, reason);
  }

  /** An operator compares these; the answers too, which are a file of records in earnest. */
  async #heads(prepared: DirectoryToPrepare, lacks: readonly number[]): ReturnType<typeof headsOf> {
    const { directory, gateway } = this.#options;
    const mark = readHeldMark(directory);
    const heads = await headsOf(prepared, mark, lacks);
    const sequence = gateway.endOf(STREAM.ANSWERS);
    const known = mark?.isLeader === false ? sequence : Math.min(sequence, mark?.held[STREAM.ANSWERS] ?? 0);
    const answers = { sequence, head: gateway.digest(STREAM.ANSWERS), known };
    return { ...heads, streams: { ...heads.streams, [STREAM.ANSWERS]: answers } };
  }

  async stop(): Promise<void> {
    this.die(false);
  }

  /** Before anything of the directory is replaced. */
  closeReaders(): void {
    this.ends?.close();
  }

  die(isPowerCut: boolean): void {
    this.closeReaders();
    if (isPowerCut) this.mark?.losePower();
    else this.mark?.close();
  }

  kill(): void {
    this.die(false);
    this.#isTorn = this.mark !== null && ++this.#kills % TORN_EVERY === 0;
    if (this.#isTorn) this.mark!.tear();
  }

  #copy(): void {
    const { directory, gateway } = this.#options;
    const giver = this.#options.giver();
    if (giver === undefined) throw new NotAMemberError('no member gives a copy of its files');
    for (const { name } of readdirSync(giver.directory, { withFileTypes: true }).filter((entry) => entry.isFile())) {
      if (name !== MARK_FILE && !name.endsWith('-shm'))
        copyFileSync(join(giver.directory, name), join(directory, name));
    }
    gateway.clear();
    gateway.copyAnswers(giver.gateway);
    this.copies++;
  }
}

async function hasControl(reads: StartReads): Promise<boolean> {
  return (await reads.ends()).some(({ stream }) => stream === STREAM.CONTROL);
}
