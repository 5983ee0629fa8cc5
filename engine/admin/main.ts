/** `npm run admin`, as a process (program.ts). */
import { setPriority } from 'node:os';
import type { BackupProgress } from '../../shared/wire/backupProgress.ts';
import { runAdmin } from './program.ts';

/** Commands that run at a lower priority than an exchange that trades beside them. */
const IN_THE_BACKGROUND: ReadonlySet<string | undefined> = new Set(['backup', 'backups']);
const LOWEST_PRIORITY = 19;

process.umask(0o077);
const { env, stdin: input, stdout: out, stderr: err } = process;
// The reader of a pipe may close it early, as `head` does after a few lines.
for (const each of [out, err]) each.on('error', () => {});
if (IN_THE_BACKGROUND.has(process.argv[2])) setPriority(LOWEST_PRIORITY);
// The exchange that started this program may have ended, and with it the reader of the pipe.
const onProgress = (progress: BackupProgress): unknown => process.send?.(progress, undefined, {}, () => {});
process.exitCode = await runAdmin(process.argv.slice(2), { env, input, out, err, onProgress });
