/** The completion of zsh, with the summary of each command and option beside it. */
import type { ArgumentSpec, CommandGroup, OptionSpec } from '../frame/command.ts';
import { argumentsOf, LIST_PROFILES, type Node, nodesOf, optionsOf, SETTINGS_FILE } from '../frame/tree.ts';

export function zshScript(groups: readonly CommandGroup[]): string {
  const nodes = nodesOf(groups);
  return [
    '#compdef pmx npx',
    '# zsh: pmx completion zsh > "$fpath[1]/_pmx", then start a new shell; also of `npx pmx` in a clone',
    '_pmx_profiles() {',
    `  local file="\${PMX_CONFIG:-\${XDG_CONFIG_HOME:-$HOME/.config}/${SETTINGS_FILE}}"`,
    `  compadd -- $(${LIST_PROFILES} "$file" 2>/dev/null)`,
    '}',
    ...nodes.map(functionOf),
    'if [ "$funcstack[1]" = "_pmx" ]; then _pmx "$@"; else compdef _pmx pmx npx; fi',
  ].join('\n');
}

/** After npx the program is the second word; other programs are not ours. */
const OF_NPX = [
  '  if [[ $service == npx ]]; then',
  '    [[ $CURRENT -gt 2 && $words[2] == pmx(|-cli) ]] || { _default; return }',
  '    shift words; (( CURRENT-- ))',
  '  fi',
];

/** One function for each word of the tree; it hands over to that of the next word. */
function functionOf({ path, children, command }: Node): string {
  const options = [...optionsOf(command).map(optionText), "'(- *)--help[what the command does, with examples]'"];
  const lines = [
    `${nameOf(path)}() {`,
    ...(path === '' ? OF_NPX : []),
    '  local context state line',
    '  typeset -A opt_args',
  ];
  if (children.length === 0) {
    const args = argumentsOf(command).map(([name, spec]) => {
      return `'${spec.many ? '*' : ''}:${name}:${actionOf(spec)}'`;
    });
    return [...lines, `  _arguments ${[...options, ...args].join(' \\\n    ')}`, '}'].join('\n');
  }
  const words = children.map(({ word, summary }) => `'${quoted(`${word}:${summary}`)}'`);
  return [
    ...lines,
    `  _arguments -C ${[...options, "'1: :->word'", "'*:: :->rest'"].join(' \\\n    ')}`,
    '  case $state in',
    `    word) local -a words; words=(${words.join(' ')}); _describe command words ;;`,
    '    rest) case $line[1] in',
    ...children.map(({ word }) => `      ${word}) ${nameOf(path === '' ? word : `${path} ${word}`)} ;;`),
    '    esac ;;',
    '  esac',
    '}',
  ].join('\n');
}

function nameOf(path: string): string {
  return `_pmx${path === '' ? '' : `_${path.replace(/[ -]/g, '_')}`}`;
}

function optionText([name, spec]: readonly [string, OptionSpec]): string {
  const text = `--${name}[${quoted(spec.description).replace(/[[\]]/g, '')}]`;
  if (spec.value === undefined) return `'${text}'`;
  return `'${spec.many ? '*' : ''}${text}:${spec.value}:${actionOf(spec)}'`;
}

function actionOf({ choices, file, profile }: OptionSpec | ArgumentSpec): string {
  if (choices !== undefined) return `(${choices.join(' ')})`;
  return file ? '_files' : profile ? '_pmx_profiles' : ' ';
}

/** Inside single quotes, where a colon would end the text. */
function quoted(text: string): string {
  return text.replaceAll("'", "'\\''").replace(/(?<=:.*):/g, '\\:');
}
