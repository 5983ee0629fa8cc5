/**
 * The sizes of the files in the data directory, which show what fills the disk, and the state of its backups.
 * Owner: the gateway thread; the file system is queried on threads of its own, at most every ten seconds.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type BackupStatus, NO_BACKUP, readBackupStatus } from '../../shared/base/backupStatus.ts';

const KEPT_MS = 10_000;

export class DataFiles {
  /** Bytes by name. Files of a folder are added up, and so are snapshots and runs of hashes, whose names change. */
  sizes: ReadonlyMap<string, number> = new Map();
  /** State of the last backup and the last drill. */
  backups: BackupStatus = NO_BACKUP;
  readonly #directory: string;
  readonly #nowMs: () => number;
  #measuredMs = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> | null = null;

  constructor(directory: string, nowMs: () => number = () => performance.now()) {
    this.#directory = directory;
    this.#nowMs = nowMs;
  }

  /** Resolves when the sizes are at most ten seconds old. If a directory cannot be read, the old sizes stay. */
  refresh(): Promise<void> {
    if (this.#nowMs() - this.#measuredMs < KEPT_MS) return Promise.resolve();
    this.#underWay ??= this.#measure()
      .catch(() => {})
      .finally(() => {
        this.#measuredMs = this.#nowMs();
        this.#underWay = null;
      });
    return this.#underWay;
  }

  async #measure(): Promise<void> {
    const sizes = new Map<string, number>();
    for (const entry of await readdir(this.#directory, { withFileTypes: true, recursive: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      const file = await stat(path).catch(() => null);
      const name = this.#nameOf(entry.parentPath, entry.name);
      if (file !== null) sizes.set(name, (sizes.get(name) ?? 0) + file.size);
    }
    this.sizes = sizes;
    this.backups = readBackupStatus(this.#directory);
  }

  #nameOf(folder: string, name: string): string {
    if (folder !== this.#directory) return `${folder.slice(this.#directory.length + 1).split('/', 1)[0]}/`;
    return name.startsWith('snapshot') ? 'snapshots' : name.startsWith('hashes-') ? 'hashes' : name;
  }
}
