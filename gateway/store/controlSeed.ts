/**
 * control.db of a member that joins a cluster with an empty directory: it is made of the records of the log, from the
 * first one on, before any store opens it.
 * Owner: the gateway thread.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FileRecord, RecordedFile } from '../../shared/records/recordedFile.ts';
import { openControlDatabase } from './database.ts';
import { isLocalRow } from './recordedTables.ts';

const CONTROL_FILE = 'control.db';

export class ControlSeed {
  readonly #database: ReturnType<typeof openControlDatabase>;
  readonly #file: RecordedFile;

  constructor(dataDir: string) {
    this.#database = openControlDatabase(join(dataDir, CONTROL_FILE));
    this.#file = new RecordedFile({ database: this.#database, isFollowing: true, isLocal: isLocalRow });
  }

  /** True where nothing has to be made: the directory was a member's before, or was never one's. */
  static isThere(dataDir: string): boolean {
    return existsSync(join(dataDir, CONTROL_FILE));
  }

  /** The last record that the file has. */
  get sequence(): number {
    return this.#file.sequence;
  }

  /** Durable when it returns. Throws a RecordError for a record that does not follow. */
  apply(record: FileRecord): void {
    this.#file.apply(record);
  }

  close(): void {
    this.#database.close();
  }
}
