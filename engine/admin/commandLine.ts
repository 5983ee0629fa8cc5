/**
 * The command line of `npm run admin`: options, the words of a command with the name that it takes, and what is wrong.
 */

import type { Readable, Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { errorMessage } from '../../shared/base/thrown.ts';
import type { BackupProgress } from '../../shared/wire/backupProgress.ts';

const OPTIONS = {
  data: { type: 'string' },
  shard: { type: 'string' },
  market: { type: 'string' },
  /** A number, or the name of a file. */
  from: { type: 'string' },
  format: { type: 'string' },
  /** The unit of the exchange. */
  service: { type: 'string' },
  all: { type: 'boolean' },
  now: { type: 'boolean' },
  new: { type: 'boolean' },
  /** A member that is given up; several times for several. */
  without: { type: 'string', multiple: true },
  count: { type: 'string' },
  to: { type: 'string' },
  point: { type: 'string' },
  rate: { type: 'string' },
  'leave-out': { type: 'string', multiple: true },
  prune: { type: 'boolean' },
  'as-it-was': { type: 'boolean' },
  'set-aside': { type: 'boolean' },
  'accept-loss': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;
type Options = ReturnType<typeof parse>['values'];
export type OptionName = keyof typeof OPTIONS;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: Readable;
  readonly out: Writable;
  readonly err: Writable;
  /** Of a backup, for the exchange that has started this program. */
  readonly onProgress?: (progress: BackupProgress) => void;
};

/** One run of a command, with its part of the command line. */
export type Call = Surroundings & {
  readonly options: Options;
  /** The name that follows the command; '' without one. */
  readonly argument: string;
};

export type Command = {
  readonly options: readonly OptionName[];
  /** The name of a file or folder follows the name of the command, or that of a member may. */
  readonly takes?: 'file' | 'folder' | 'member' | 'number';
  /** It makes files in the data directory: only the user that owns it runs it. */
  readonly writes?: true;
  readonly run: (call: Call) => Promise<boolean>;
};

export function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

/** A command has one word or two, and those that take a name have it after them. */
export function nameOf(
  commands: { readonly [name: string]: Pick<Command, 'takes'> | undefined },
  positionals: readonly string[],
): { name: string; argument: string; rest: number } {
  for (const words of [2, 1]) {
    const name = positionals.slice(0, words).join(' ');
    if (commands[name]?.takes === undefined) continue;
    return { name, argument: positionals[words] ?? '', rest: Math.max(0, positionals.length - words - 1) };
  }
  return { name: positionals.join(' '), argument: '', rest: 0 };
}

export function integerOf(option: OptionName, text: string | undefined, least: number): number | null {
  if (text === undefined) return null;
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
  if (value < least) throw new UsageError(`--${option}: expected a number from ${least} on`);
  return value;
}

export function print({ out }: Surroundings, line: string): void {
  out.write(`${line}\n`);
}

export function dataDir({ options, env }: Call): string {
  return options.data ?? env['DATA_DIR'] ?? 'data/live';
}
