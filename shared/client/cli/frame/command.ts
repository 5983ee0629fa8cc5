/**
 * The form in which commands are declared. The table of commands is the program: its help, its completions and its
 * reference page are made only from it.
 *
 * Invariants:
 *   CLICOMMAND-1  A command returns a value and lines; `--json` prints the value as the exchange sent it, and the lines
 *                 say the same for a person.
 */
import type { Context } from './context.ts';

type Values = {
  /** All allowed values; any other is refused before the command runs. */
  readonly choices?: readonly string[];
  /** A shell completes the choices, but other values are accepted too. */
  readonly isOpen?: true;
  /** The value is the name of a file. */
  readonly file?: true;
  /** The value is the name of an existing profile. */
  readonly profile?: true;
};

export type ArgumentSpec = Values & {
  readonly description: string;
  readonly optional?: true;
  /** The argument may be given several times; it is the last one. */
  readonly many?: true;
};

/** Without `value` it is a flag. */
export type OptionSpec = Values & {
  readonly description: string;
  /** The name of its value in the help. */
  readonly value?: string;
  readonly required?: true;
  readonly fallback?: string;
  readonly many?: true;
};

type ArgumentSpecs = Readonly<Record<string, ArgumentSpec>>;
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** One of the choices where others are refused. */
type Word<S> = S extends { isOpen: true } ? string : S extends { choices: readonly (infer C)[] } ? C : string;
type ArgumentValue<S> = S extends { many: true }
  ? Word<S>[]
  : S extends { optional: true }
    ? Word<S> | undefined
    : Word<S>;
type OptionValue<S> = S extends { value: string }
  ? S extends { many: true }
    ? Word<S>[]
    : S extends { required: true } | { fallback: string }
      ? Word<S>
      : Word<S> | undefined
  : boolean;
type Given<A, O> = { readonly [K in keyof A]: ArgumentValue<A[K]> } & { readonly [K in keyof O]: OptionValue<O[K]> };

/** Printed at the end. `isBad` sets the exit code of a refusal, although nothing was thrown. */
export type Result = {
  readonly value: unknown;
  readonly lines: readonly string[];
  readonly isBad?: boolean;
  /** The lines have colours: the command has replaced characters that control a terminal (frame/text.ts). */
  readonly isPainted?: boolean;
};

/** For whom a command acts; the help names it. `wallet` needs a private key besides the account. */
type Access = 'anyone' | 'account' | 'wallet' | 'operator';

type Described = {
  /** The words that call it: `markets list`. */
  readonly name: string;
  readonly summary: string;
  readonly details?: string;
  readonly access: Access;
  /** Without `pmx`: the examples that a reader of the help tries first. */
  readonly examples: readonly string[];
  /** The output of `--json`, in a few words. */
  readonly json: string;
  /**
   * True if the command creates the profile that `--profile` names; for all other commands an unknown name is a
   * mistake.
   */
  readonly makesProfile?: true;
};

export type Command = Described & {
  readonly arguments: ArgumentSpecs;
  readonly options: OptionSpecs;
  /** Null: everything is already printed. */
  run(context: Context, given: Readonly<Record<string, unknown>>): Promise<Result | null>;
};

export type CommandGroup = {
  /** The first word of its commands, or null if each command has only its own name. */
  readonly word: string | null;
  readonly title: string;
  /** A sentence for the readers of its help. */
  readonly note?: string;
  readonly commands: readonly Command[];
};

type Declared<A extends ArgumentSpecs, O extends OptionSpecs> = Omit<Described, 'access' | 'examples'> & {
  /** An operator by default for `admin …`, otherwise the account. */
  readonly access?: Access;
  /** By default the name alone. */
  readonly examples?: readonly string[];
  readonly arguments?: A;
  readonly options?: O;
  run(context: Context, given: Given<A, O>): Promise<Result | null>;
};

// biome-ignore lint/complexity/noBannedTypes: a command without arguments has a table without rows
export function command<const A extends ArgumentSpecs = {}, const O extends OptionSpecs = {}>(
  declared: Declared<A, O>,
): Command {
  const { run, arguments: args = {}, options = {}, ...described } = declared;
  const access = described.name.startsWith('admin ') ? 'operator' : 'account';
  return {
    ...{ access, examples: [described.name], ...described },
    arguments: args,
    options,
    run: (context, given) => run(context, given as Given<A, O>),
  };
}
