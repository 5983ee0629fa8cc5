/**
 * `pmx`: the table of commands as a program. It reads the command line, runs one command and prints its result or its
 * failure; it ends no process, so that a test can run it as often as it likes.
 *
 * Invariants:
 *   PROGRAM-1  Standard output has the result and nothing else: with `--json` one JSON value, or a line of JSON each.
 *   PROGRAM-2  No secret is an argument or an option of any command.
 */
import { Command as CommanderCommand, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { ArgumentSpec, Command, CommandGroup, OptionSpec, Result } from './frame/command.ts';
import { Context, type GlobalFlags } from './frame/context.ts';
import { UsageError } from './frame/errors.ts';
import { EXIT, EXIT_MEANINGS, explain, linesOf } from './frame/explain.ts';
import { GLOBAL_OPTIONS } from './frame/globalOptions.ts';
import { type Output, paintFor, type Terminal } from './frame/terminal.ts';
import { printableJson, printableLines } from './frame/text.ts';
import { programVersion } from './frame/version.ts';

const PAGE_WIDTH = 100;
const LONGEST_TIMEOUT_SEC = 600;

const ACCESS_LINES = {
  anyone: null,
  account: 'Acts for your account (pmx login).',
  wallet: 'Acts for your account (pmx login) and signs with its wallet (PRIVATE_KEY).',
  operator: 'For operators of the exchange (ADMIN_TOKEN, pmx login --operator, or --service).',
} as const;

/** @returns the exit code. */
export async function runProgram(
  groups: readonly CommandGroup[],
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  let exitCode: number = EXIT.DONE;
  const isJson = args.includes('--json');
  const program = describeProgram(groups, isJson ? withoutText(terminal) : terminal, async (command, given, flags) => {
    exitCode = await runCommand(command, given, new Context(terminal, flags, command.makesProfile === true));
  });
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(error, terminal, isJson);
    if (error.exitCode === 0) return EXIT.DONE;
    return isJson ? fail(usageOf(error), terminal, isJson) : EXIT.USAGE;
  }
  return exitCode;
}

/** The words of commander about a wrong command line is printed as JSON in its place. */
function withoutText(terminal: Terminal): Terminal {
  return { ...terminal, err: { write: () => true } };
}

function usageOf({ code, message }: CommanderError): UsageError {
  const isHelp = code === 'commander.help';
  return new UsageError(isHelp ? 'a command is missing' : message.replace(/^error: /, '').replaceAll('\n', ' '));
}

type Act = (command: Command, given: Record<string, unknown>, flags: GlobalFlags) => Promise<void>;

function describeProgram(groups: readonly CommandGroup[], terminal: Terminal, act: Act): CommanderCommand {
  const program = new CommanderCommand('pmx');
  inherit(program, terminal);
  program
    .description('Trades on an open prediction exchange from a terminal, and looks after one.')
    .usage('<command> [options]')
    .version(programVersion(), '-V, --version', 'the version of this program')
    .addHelpText('after', programHelp);
  for (const [name, spec] of Object.entries(GLOBAL_OPTIONS)) program.addOption(optionOf(name, spec));
  for (const group of groups) {
    program.commandsGroup(`${group.title}:`);
    const parent = group.word === null ? program : inherit(program.command(group.word), terminal);
    if (group.word !== null) describeGroup(parent, group);
    for (const command of group.commands) describe(parent, command, terminal, act);
  }
  return program;
}

/** By the second words of its commands, each once. */
function describeGroup(parent: CommanderCommand, { title, commands, note }: CommandGroup): void {
  const words = [...new Set(commands.map(({ name }) => name.split(' ')[1]))].join(', ');
  parent
    .usage('<command>')
    .summary(words)
    .description([`${title}: ${words}.`, note].filter(Boolean).join('\n\n'));
}

/** `admin markets create` stands below `admin`, and its second word is made with the first command that has it. */
function describe(parent: CommanderCommand, spec: Command, terminal: Terminal, act: Act): void {
  const words = spec.name.split(' ').slice(parent.parent === null ? 0 : 1);
  let at = parent;
  for (const word of words.slice(0, -1)) {
    const known = at.commands.find((child) => child.name() === word);
    at = known ?? inherit(at.command(word), terminal).description(`commands for ${word}`).usage('<command>');
  }
  const command = inherit(at.command(words.at(-1)!), terminal);
  command.summary(spec.summary).description(descriptionOf(spec));
  for (const [name, argument] of Object.entries(spec.arguments)) {
    command.addArgument(argumentOf(command, name, argument));
  }
  for (const [name, option] of Object.entries(spec.options)) command.addOption(optionOf(name, option));
  // Commander would name the first argument that is missing, and no option.
  Object.assign(command, { missingArgument: () => command.error(`error: ${missingIn(spec, command)}`) });
  command.addHelpText('after', () => examplesOf(spec));
  command.action(async () => {
    const flags = globalFlags(command.optsWithGlobals());
    await act(spec, givenOf(spec, command), flags);
  });
}

function inherit(command: CommanderCommand, terminal: Terminal): CommanderCommand {
  const { out, err } = terminal;
  return command
    .exitOverride()
    .helpOption('-h, --help', 'what the command does, with examples')
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      getOutHelpWidth: () => widthOf(out),
      getErrHelpWidth: () => widthOf(err),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: command.name() !== 'pmx' })
    .showHelpAfterError('Try it with --help.')
    .showSuggestionAfterError(true);
}

function widthOf({ isTTY, columns }: Output): number {
  return isTTY === true ? Math.min(columns ?? PAGE_WIDTH, PAGE_WIDTH) : PAGE_WIDTH;
}

function descriptionOf({ summary, details, access }: Command): string {
  return [`${summary}.`, details, ACCESS_LINES[access]]
    .filter((line) => line !== undefined && line !== null)
    .join('\n\n');
}

function examplesOf({ examples, json }: Command): string {
  return `\nExamples:\n${examples.map((line) => `  $ pmx ${line}`).join('\n')}\n\n--json prints ${json}.`;
}

function programHelp(): string {
  return [
    '',
    'Start here:',
    '  $ pmx doctor                       is everything as it should be?',
    '  $ pmx markets search election      find a market',
    '  $ pmx book MARKET --live           watch its book',
    "  $ pmx buy MARKET '$20'             buy at the prices that are there",
    '  $ pmx place MARKET --side buy --price 0.55 --size 10',
    '',
    'Exit codes:',
    ...EXIT_MEANINGS.map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}`),
  ].join('\n');
}

function argumentOf(command: CommanderCommand, name: string, spec: ArgumentSpec) {
  const dots = spec.many ? '...' : '';
  const form = spec.optional ? `[${name}${dots}]` : `<${name}${dots}>`;
  const argument = command.createArgument(form, spec.description);
  return spec.choices === undefined ? argument : argument.choices([...spec.choices]);
}

function optionOf(name: string, spec: OptionSpec): Option {
  const form = spec.value === undefined ? `--${name}` : `--${name} <${spec.value}>`;
  const option = new Option(form, spec.description);
  if (spec.choices !== undefined && !spec.many && !spec.isOpen) {
    option.choices([...spec.choices]).argParser((value: string) => oneOf(spec.choices!, value));
  }
  if (spec.many) option.argParser((value: string, before: string[] = []) => [...before, ...value.split(',')]);
  if (spec.many && !spec.required) option.default([], 'none');
  if (spec.fallback !== undefined) option.default(spec.fallback);
  return option;
}

/** Names of the interface are in capitals, and people do not type them so. */
function oneOf(choices: readonly string[], value: string): string {
  const found = choices.find((choice) => choice.toLowerCase() === value.toLowerCase());
  if (found === undefined) throw new InvalidArgumentError(`It is one of ${choices.join(', ')}.`);
  return found;
}

/** Under the names of the table; commander has its own for options. */
function givenOf(spec: Command, command: CommanderCommand): Record<string, unknown> {
  const options = command.opts();
  const names = Object.keys(spec.options);
  const missing = missingIn(spec, command);
  if (missing !== null) throw new UsageError(missing);
  const given = Object.fromEntries(names.map((name) => [name, options[attributeOf(name)] ?? defaultOf(spec, name)]));
  for (const name of names) checkChoices(name, spec.options[name], given[name]);
  return {
    ...given,
    ...Object.fromEntries(Object.keys(spec.arguments).map((name, at) => [name, command.processedArgs[at]])),
  };
}

/** Every argument and option that the command line lacks, in one message; null if there are all. */
function missingIn(spec: Command, command: CommanderCommand): string | null {
  const options = command.opts();
  const missing = [
    ...Object.entries(spec.arguments).flatMap(([name, { optional }], at) =>
      optional || at < command.args.length ? [] : [`<${name}>`],
    ),
    ...Object.entries(spec.options).flatMap(([name, { required }]) =>
      required && options[attributeOf(name)] === undefined ? [`--${name}`] : [],
    ),
  ];
  return missing.length === 0 ? null : `${spec.name} needs ${missing.join(', ')}`;
}

function attributeOf(name: string): string {
  return new Option(`--${name}`).attributeName();
}

function defaultOf(spec: Command, name: string): unknown {
  return spec.options[name].value === undefined ? false : undefined;
}

function checkChoices(name: string, { choices, many }: OptionSpec, value: unknown): void {
  if (!many || choices === undefined) return;
  const wrong = [value].flat().find((word) => !choices.includes(String(word)));
  if (wrong !== undefined) throw new UsageError(`--${name} ${wrong}: it is one of ${choices.join(', ')}`);
}

function globalFlags(options: Record<string, unknown>): GlobalFlags {
  const seconds = Number(options['timeout']);
  if (!(seconds > 0 && seconds <= LONGEST_TIMEOUT_SEC)) {
    throw new UsageError(`--timeout is a number of seconds up to ${LONGEST_TIMEOUT_SEC}`);
  }
  return {
    json: options['json'] === true,
    profile: textIn(options, 'profile'),
    url: textIn(options, 'url'),
    as: textIn(options, 'as'),
    service: textIn(options, 'service'),
    timeoutMs: Math.ceil(seconds * 1000),
  };
}

function textIn(options: Record<string, unknown>, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

async function runCommand(command: Command, given: Record<string, unknown>, context: Context): Promise<number> {
  try {
    const result = await command.run(context, given);
    if (result !== null) print(result, context);
    return result?.isBad ? EXIT.REFUSED : EXIT.DONE;
  } catch (error) {
    return fail(error, context.terminal, context.isJson, context.addresses);
  }
}

/** PROGRAM-1. */
function print({ value, lines, isPainted }: Result, { isJson, terminal }: Context): void {
  const text = lines.join('\n');
  if (isJson) terminal.out.write(`${printableJson(value, 2)}\n`);
  else if (lines.length > 0) terminal.out.write(`${isPainted ? text : printableLines(text)}\n`);
}

function fail(
  error: unknown,
  { err, env, interrupted }: Terminal,
  isJson: boolean,
  at: readonly string[] = [],
): number {
  if (interrupted.aborted) return EXIT.INTERRUPTED;
  const { failure, exitCode } = explain(error, at.join(', '));
  const paint = paintFor(err, env);
  if (isJson) err.write(`${printableJson(failure)}\n`);
  else
    err.write(
      `${linesOf(failure)
        .map(printableLines)
        .map((line, at) => (at === 0 ? paint('red', line) : line))
        .join('\n')}\n`,
    );
  return exitCode;
}
