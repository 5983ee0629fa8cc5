/** The reference page of the program, from the table of commands. */
import type { ArgumentSpec, Command, CommandGroup, OptionSpec } from '../frame/command.ts';
import { EXIT_MEANINGS } from '../frame/explain.ts';
import { GLOBAL_OPTIONS } from '../frame/globalOptions.ts';

const WIDTH = 118;

const ACCESS_TEXT = {
  anyone: 'Needs no account.',
  account: 'Acts for your account.',
  wallet: 'Acts for your account and signs with its wallet.',
  operator: "Needs an operator's token.",
} as const;

const INTRODUCTION = [
  '# The command line: pmx',
  '`pmx` trades on the exchange from a terminal and looks after one. From a source checkout it is `npx pmx`, and ' +
    'without one `npx pmx-cli` (Node 20.19 or later). This page is printed by `pmx reference`.',
  '## For whom it acts',
  'Most specific first: `--as` names a demo account of an exchange on this machine; `API_KEY`, `API_SECRET` and ' +
    '`API_PASSPHRASE` in the environment; what `pmx login` has kept in the profile; the first demo account. The ' +
    'exchange is `--url`, `BASE_URL`, that of the profile, or the one on this machine. What a profile keeps is sent ' +
    'to its own exchange only.',
  'Orders are signed with `PRIVATE_KEY`, the file `PRIVATE_KEY_FILE`, the wallet that `pmx login --keep-wallet` ' +
    'keeps, or one that is typed unseen. Operators have `ADMIN_TOKEN` or `pmx login --operator`. No secret is ever ' +
    'an argument: other users of a machine see those. Settings are in `PMX_CONFIG`, by default ' +
    '`~/.config/open-prediction-exchange/config.json`, and sessions beside it (`SESSION_FILE`); a file that others ' +
    'may read is refused. `PMX_PROFILE` or `--profile` choose one of several profiles.',
  '## For programs',
  "`--json` prints the exchange's own answer, as its interface describes it, on standard output and nothing else " +
    'there. Commands that go on print a JSON value on each line. A failure is one line of JSON on standard error: ' +
    '`{error, code}`, and where they are known `status`, `details`, `retry_after`, `request_id` and `hint`. ' +
    '`NO_COLOR` is respected, and pipes get no colours.',
];

export function referencePage(groups: readonly CommandGroup[]): string {
  const introduction = INTRODUCTION.map((text) => `${wrap(text)}\n\n`);
  const parts = [...introduction, exitCodes(), globalOptions()];
  for (const { title, note, commands } of groups) {
    parts.push(`## ${title}\n\n`, note === undefined ? '' : `${wrap(note)}\n\n`, ...commands.map(commandPart));
  }
  return `${parts.join('').trimEnd()}\n`;
}

function exitCodes(): string {
  const rows = EXIT_MEANINGS.map(([code, meaning]) => `| ${code} | ${meaning} |\n`);
  return `| exit code | meaning |\n|---|---|\n${rows.join('')}\n`;
}

function globalOptions(): string {
  return `Every command has these options:\n\n${optionRows(Object.entries(GLOBAL_OPTIONS))}\n`;
}

function commandPart(command: Command): string {
  const { summary, details, access, json } = command;
  const text = [`${summary}.`, details, ACCESS_TEXT[access], `\`--json\` prints ${json}.`];
  const args = Object.entries(command.arguments);
  const options = Object.entries(command.options);
  return [
    `### pmx ${command.name}\n\n`,
    `    pmx ${usageOf(command)}\n\n`,
    `${wrap(text.filter((part) => part !== undefined).join(' '))}\n\n`,
    args.length === 0 && options.length === 0 ? '' : `${argumentRows(args)}${optionRows(options)}\n`,
    `${command.examples.map((line) => `    $ pmx ${line}\n`).join('')}\n`,
  ].join('');
}

function usageOf({ name, arguments: args, options }: Command): string {
  const words = Object.entries(args).map(([word, { optional, many }]) => {
    const text = many ? `${word}...` : word;
    return optional ? `[${text}]` : `<${text}>`;
  });
  return [name, ...words, ...(Object.keys(options).length === 0 ? [] : ['[options]'])].join(' ');
}

function argumentRows(args: readonly (readonly [string, ArgumentSpec])[]): string {
  return args.map(([name, spec]) => item(`\`${name}\``, spec.description, choicesText(spec))).join('');
}

function optionRows(options: readonly (readonly [string, OptionSpec])[]): string {
  return options
    .map(([name, spec]) => {
      const value = spec.value === undefined ? '' : ` <${spec.value}>`;
      const notes = [
        spec.required ? ' Required.' : '',
        spec.fallback === undefined ? '' : ` Default: ${spec.fallback}.`,
      ];
      return item(`\`--${name}${value}\``, spec.description, choicesText(spec) + notes.join(''));
    })
    .join('');
}

function choicesText({ choices }: { readonly choices?: readonly string[] }): string {
  return choices === undefined ? '' : ` One of ${choices.join(', ')}.`;
}

function item(name: string, description: string, notes: string): string {
  const end = description.endsWith('.') || notes === '' ? '' : '.';
  return `${wrap(`- ${name} ${description}${end}${notes}`, '  ')}\n`;
}

/** Lines of at most this width. @param indent of all but the first */
function wrap(text: string, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > WIDTH) {
      lines.push(line);
      line = indent + word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join('\n');
}
