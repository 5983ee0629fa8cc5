/** The completion of fish: a line for each word and each option, under the condition that the words before it fit. */
import type { ArgumentSpec, CommandGroup, OptionSpec } from '../frame/command.ts';
import {
  argumentsOf,
  LIST_PROFILES,
  type Node,
  nodesOf,
  optionsOf,
  SETTINGS_FILE,
  valueOptions,
} from '../frame/tree.ts';

export function fishScript(groups: readonly CommandGroup[]): string {
  const nodes = nodesOf(groups);
  const withValue = valueOptions(nodes);
  return [
    '# fish: pmx completion fish > ~/.config/fish/completions/pmx.fish',
    '# From ~/.config/fish/conf.d/pmx.fish it is also of `npx pmx` in a clone.',
    'function __pmx_at',
    '    set -l words (commandline -opc)',
    '    set -l plain',
    '    set -l skips 0',
    '    for word in $words[2..-1]',
    '        if test $skips = 1',
    '            set skips 0',
    `        else if contains -- "$word" ${withValue.join(' ')}`,
    '            set skips 1',
    '        else if not string match -q -- "-*" $word',
    '            set -a plain $word',
    '        end',
    '    end',
    '    set -l head',
    '    test $argv[1] -gt 0; and set head $plain[1..$argv[1]]',
    '    test "$head" = "$argv[2]"; or return 1',
    '    test "$argv[3]" = any; or test (count $plain) -eq $argv[1]',
    'end',
    'function __pmx_profiles',
    '    set -l config $HOME/.config',
    '    set -q XDG_CONFIG_HOME; and set config $XDG_CONFIG_HOME',
    `    set -l file $config/${SETTINGS_FILE}`,
    '    set -q PMX_CONFIG; and set file $PMX_CONFIG',
    `    ${LIST_PROFILES} $file 2>/dev/null`,
    'end',
    'complete -c pmx -f',
    'function __pmx_after_npx',
    '    complete -C (commandline -cp | string replace -r "^\\s*npx\\s+pmx(-cli)?" pmx)',
    'end',
    `complete -c npx -n 'string match -qr "^\\s*npx\\s+pmx(-cli)?\\s" (commandline -cp)' -f -a '(__pmx_after_npx)'`,
    ...nodes.flatMap(linesOf),
  ].join('\n');
}

function linesOf({ path, children, command }: Node): string[] {
  const count = path === '' ? 0 : path.split(' ').length;
  const here = `-n '__pmx_at ${count} "${path}"'`;
  const below = count === 0 ? '' : `-n '__pmx_at ${count} "${path}" any' `;
  const words = children.map(({ word, summary }) => `complete -c pmx ${here} -a ${word} -d '${quoted(summary)}'`);
  const options = command === null && path !== '' ? [] : ownOptions(command);
  return [
    ...words,
    ...options.map(([name, spec]) => {
      const value = spec.value === undefined ? '' : spec.file ? ' -r -F' : ' -x';
      const choices = wordsOf(spec);
      return `complete -c pmx ${below}-l ${name}${value}${choices} -d '${quoted(spec.description)}'`;
    }),
    ...argumentsOf(command).flatMap(([, spec]) => {
      const words = wordsOf(spec);
      if (words !== '') return [`complete -c pmx ${here}${words}`];
      return spec.file ? [`complete -c pmx ${below}-F`] : [];
    }),
  ];
}

function wordsOf({ choices, profile }: OptionSpec | ArgumentSpec): string {
  if (choices !== undefined) return ` -a '${choices.join(' ')}'`;
  return profile ? " -a '(__pmx_profiles)'" : '';
}

/** Those of every command have a line once, without a condition. */
function ownOptions(command: Node['command']) {
  return command === null ? optionsOf(null) : Object.entries(command.options);
}

function quoted(text: string): string {
  return text.replaceAll("'", "\\'");
}
