/**
 * Gives copies of control.db to the administrator's program (engine/backup), which cannot open the file while this
 * process holds it. One copy at a time is made, and announced over a socket in the data directory.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   CONTROLCOPIES-1  The cut is read in the turn in which the copy is complete. Whatever control.db records as carried
 *                    out is at or before the cut, because a reply is handled after its commit. Whatever the journals
 *                    have up to the cut was requested before, because a command is sent only after the rows that it
 *                    needs are written (BACKUPPOINT-1).
 *   CONTROLCOPIES-2  Every credit spent by a record up to the cut was given by a record up to the cut: the ends of all
 *                    shards belong to one moment.
 *   CONTROLCOPIES-3  The copy is deleted when either side ends the connection; a start deletes copies that are left.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../shared/base/clock.ts';
import {
  CONTROL_COPY_FOLDER,
  CONTROL_COPY_SOCKET,
  type ControlCopyNews,
  withSocketPath,
} from '../../shared/wire/controlCopy.ts';
import type { Logger } from '../base/log.ts';

type ControlCopiesOptions = {
  readonly directory: string;
  /** Copies control.db to a path, in its state at the turn in which the promise resolves. */
  readonly copyTo: (path: string) => Promise<void>;
  /** By shard, the last record that a start with the copy has to find. */
  readonly ends: () => readonly number[];
  readonly clock: Clock;
  readonly log: Logger;
};

export class ControlCopies {
  readonly #options: ControlCopiesOptions;
  readonly #server: Server;
  #connection: Socket | null = null;

  constructor(options: ControlCopiesOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** This process holds the directory, so an existing socket belongs to a process that has ended. */
  start(): void {
    const { directory, log } = this.#options;
    rmSync(join(directory, CONTROL_COPY_SOCKET), { force: true });
    this.#clear();
    this.#server.on('error', (error) =>
      log.warn(
        { err: error },
        'no backup can be made until the exchange is started again: its socket for backups failed',
      ),
    );
    withSocketPath(directory, (path) => this.#server.listen(path));
  }

  stop(): void {
    this.#server.close();
    this.#connection?.destroy();
    rmSync(join(this.#options.directory, CONTROL_COPY_SOCKET), { force: true });
  }

  #serve(socket: Socket): void {
    const say = (news: ControlCopyNews): void => {
      socket.write(`${JSON.stringify(news)}\n`);
    };
    // The program may have ended: then its connection's close reports it.
    socket.on('error', () => {});
    if (this.#connection !== null) {
      say({ busy: true });
      socket.end();
      return;
    }
    this.#connection = socket;
    let isOver = false;
    let isCopying = true;
    const clear = (): void => {
      if (!isOver || isCopying) return;
      this.#clear();
      this.#connection = null;
    };
    socket.once('close', () => {
      isOver = true;
      clear();
    });
    // Without this the end of the other side is not noticed.
    socket.resume();
    this.#copy()
      .then(say, (error: Error) => {
        this.#options.log.warn({ err: error }, 'control.db could not be copied for a backup');
        say({ failed: error.message });
      })
      .finally(() => {
        isCopying = false;
        clear();
      });
  }

  /** CONTROLCOPIES-1 */
  async #copy(): Promise<ControlCopyNews> {
    const { directory, copyTo, ends, clock } = this.#options;
    const copied = join(CONTROL_COPY_FOLDER, 'control.db');
    mkdirSync(join(directory, CONTROL_COPY_FOLDER), { mode: 0o700, recursive: true });
    await copyTo(join(directory, copied));
    return { copied, cuts: settledEnds(ends), takenMs: clock.nowMs() };
  }

  /** CONTROLCOPIES-3 */
  #clear(): void {
    rmSync(join(this.#options.directory, CONTROL_COPY_FOLDER), { recursive: true, force: true });
  }
}

/**
 * CONTROLCOPIES-2. Shards commit in the meantime: if the ends are the same twice, they were all there at one moment.
 */
function settledEnds(ends: () => readonly number[]): readonly number[] {
  for (let before = ends(); ; ) {
    const after = ends();
    if (after.every((end, shard) => end === before[shard])) return after;
    before = after;
  }
}
