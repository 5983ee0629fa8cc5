/** The process of `pmx`: its signals, its pipes and its exit code. */
import { systemClock } from '../../base/clock.ts';
import { EXIT } from './frame/explain.ts';
import type { Terminal } from './frame/terminal.ts';
import { GROUPS } from './groups.ts';
import { runProgram } from './program.ts';

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A second one means that the first was not enough.
    if (interruption.signal.aborted) process.exit(EXIT.INTERRUPTED);
    interruption.abort();
  });
}
// The reader has closed the pipe, as `| head` does after a few lines.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? EXIT.DONE : EXIT.REFUSED));
}

const terminal: Terminal = {
  env: process.env,
  out: process.stdout,
  err: process.stderr,
  input: process.stdin,
  clock: systemClock,
  interrupted: interruption.signal,
};
const code = await runProgram(GROUPS, process.argv.slice(2), terminal);
// A connection that is kept open for a next request does not hold up the end.
process.stdout.write('', () => {
  const { errored }: { errored?: NodeJS.ErrnoException | null } = process.stdout;
  // A full disk has lost what was printed.
  process.exit(errored && errored.code !== 'EPIPE' ? EXIT.REFUSED : code);
});
