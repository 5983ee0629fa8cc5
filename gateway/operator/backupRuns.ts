/**
 * Makes backups that an administrator requests over the API: runs the program of `npm run admin -- backup` as a process
 * of its own at the lowest priority, into the one folder that the settings allow (RULES.md 9.62).
 * Owner: the gateway thread.
 *
 * Invariants:
 *   BACKUPRUNS-1  Of a request, only a number reaches the command line: no path and no word.
 *   BACKUPRUNS-2  One backup runs at a time, and none outlives an orderly stop; the next one goes on with the parts
 *                 that are there.
 *   BACKUPRUNS-3  The process gets the data directory and the master key, but no other setting or secret.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { BackupReport } from '../../shared/api/backups.ts';
import { readBackupStatus } from '../../shared/base/backupStatus.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { IN_FILE } from '../../shared/crypto/masterKey.ts';
import type { BackupProgress } from '../../shared/wire/backupProgress.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';

const PROGRAM = fileURLToPath(new URL('../../engine/admin/main.ts', import.meta.url));
const KEPT_LINES = 20;

type BackupRunsOptions = {
  readonly config: Pick<Config, 'dataDir' | 'backupTarget' | 'masterKey'>;
  readonly clock: Clock;
  readonly log: Logger;
};

type Run = {
  state: Exclude<BackupReport['state'], 'none'>;
  readonly startedMs: number;
  endedMs: number | null;
  progress: BackupProgress;
  lines: string[];
};

export class BackupRuns {
  readonly #options: BackupRunsOptions;
  #run: Run | null = null;
  #child: ChildProcess | null = null;

  constructor(options: BackupRunsOptions) {
    this.#options = options;
  }

  /** Starts a backup. @returns why it is refused; null if it runs. */
  start(rate: number | undefined): string | null {
    const { config, clock, log } = this.#options;
    if (config.backupTarget === null) return 'no folder of backups is set: BACKUP_TARGET';
    if (this.#run?.state === 'running') return 'a backup is under way';
    const progress = { readBytes: 0, directoryBytes: 0 };
    const run: Run = { state: 'running', startedMs: clock.nowMs(), endedMs: null, progress, lines: [] };
    this.#run = run;
    const child = this.#spawn(config.backupTarget, rate);
    this.#child = child;
    for (const output of [child.stdout, child.stderr]) keepLines(output!, run);
    child.on('message', (news) => {
      run.progress = news as BackupProgress;
    });
    child.on('error', (error) => run.lines.push(error.message));
    // Called after both outputs have ended, even if the program could not be started.
    child.on('close', (code) => {
      this.#child = null;
      run.state = code === 0 ? 'done' : 'failed';
      run.endedMs = clock.nowMs();
      if (code === 0) log.info({ folder: config.backupTarget }, 'a requested backup is whole');
      else log.warn({ folder: config.backupTarget, lines: run.lines.slice(-1) }, 'a requested backup failed');
    });
    return null;
  }

  report(): BackupReport {
    const { dataDir, backupTarget } = this.#options.config;
    const { backedUpMs, failedMs, restoredMs, drillFailedMs } = readBackupStatus(dataDir);
    const run = this.#run;
    return {
      folder: backupTarget,
      state: run?.state ?? 'none',
      started_at: timeOrNull(run?.startedMs ?? null),
      ended_at: timeOrNull(run?.endedMs ?? null),
      read_bytes: run?.progress.readBytes ?? 0,
      directory_bytes: run?.progress.directoryBytes ?? 0,
      lines: [...(run?.lines ?? [])],
      backed_up_at: timeOrNull(backedUpMs),
      failed_at: timeOrNull(failedMs),
      restored_at: timeOrNull(restoredMs),
      drill_failed_at: timeOrNull(drillFailedMs),
    };
  }

  /** BACKUPRUNS-2 */
  stop(): void {
    this.#child?.kill();
  }

  /** BACKUPRUNS-1, BACKUPRUNS-3 */
  #spawn(target: string, rate: number | undefined): ChildProcess {
    const { dataDir, masterKey } = this.#options.config;
    const pace = rate === undefined ? [] : ['--rate', String(rate)];
    return spawn(process.execPath, [...STRIPPED_BEFORE, PROGRAM, 'backup', ...pace, '--', target], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { DATA_DIR: dataDir, MASTER_KEY: masterKey?.toString('hex') ?? IN_FILE },
    });
  }
}

function keepLines(output: Readable, run: Run): void {
  createInterface({ input: output }).on('line', (line) => {
    run.lines.push(line);
    if (run.lines.length > KEPT_LINES) run.lines.shift();
  });
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
