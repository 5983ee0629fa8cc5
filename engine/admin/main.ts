/** `npm run admin`, as a process (program.ts). */
import { runAdmin } from './program.ts';

process.umask(0o077);
const { env, stdin: input, stdout: out, stderr: err } = process;
// The reader of a pipe may have enough, as `head` has after a few lines.
for (const each of [out, err]) each.on('error', () => {});
process.exitCode = await runAdmin(process.argv.slice(2), { env, input, out, err });
