/** `npm run admin`, as a process (program.ts). */
import { setPriority } from 'node:os';
import type { BackupProgress } from '../../shared/wire/backupProgress.ts';
import { runAdmin } from './program.ts';

/** Commands before which an exchange that trades beside them has the processors. */
const IN_THE_BACKGROUND: ReadonlySet<string | undefined> = new Set(['backup', 'backups']);
const LOWEST_PRIORITY = 19;

process.umask(0o077);
const { env, stdin: input, stdout: out, stderr: err } = process;
// The reader of a pipe may have enough, as `head` has after a few lines.
for (const each of [out, err]) each.on('error', () => {});
if (IN_THE_BACKGROUND.has(process.argv[2])) setPriority(LOWEST_PRIORITY);
// The exchange that has started this program may be gone, and with it the reader.
const onProgress = (progress: BackupProgress): unknown => process.send?.(progress, undefined, {}, () => {});
process.exitCode = await runAdmin(process.argv.slice(2), { env, input, out, err, onProgress });
