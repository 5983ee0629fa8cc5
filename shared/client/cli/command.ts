/** The end of every command line: a refusal prints one line and exits with 1, a mistake the usage and with 64. */
import { ApiError } from '../http.ts';

/** A mistake in the command line, not a refusal by the exchange. */
export class UsageError extends Error {}

const EXIT_REFUSED = 1;
const EXIT_USAGE = 64;

export async function runCommand(usage: string, run: (args: string[]) => Promise<void>): Promise<void> {
  try {
    await run(process.argv.slice(2));
  } catch (error) {
    console.error(`error: ${explain(error)}`);
    if (error instanceof UsageError) console.error(`\n${usage}`);
    process.exitCode = error instanceof UsageError ? EXIT_USAGE : EXIT_REFUSED;
  }
}

/** One line with the error and, where possible, the remedy. */
function explain(error: unknown): string {
  if (error instanceof ApiError) {
    const details = error.details === undefined ? '' : ` ${JSON.stringify(error.details)}`;
    const wait = error.retryAfter === null ? '' : `; try again in ${error.retryAfter} s`;
    return `${error.message} (${error.code}, HTTP ${error.status})${details}${wait}`;
  }
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'the exchange did not answer in time';
  const cause = error.cause as (Error & { code?: string }) | undefined;
  return cause === undefined
    ? error.message
    : `cannot reach the exchange (${cause.code ?? cause.message}); is it running?`;
}
