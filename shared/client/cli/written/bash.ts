/** The completion of bash. */
import type { CommandGroup } from '../frame/command.ts';
import { argumentsOf, nodesOf, optionsOf, valueOptions } from '../frame/tree.ts';

/** Words, and what may follow an option, are looked up by the path of the command that is being typed. */
export function bashScript(groups: readonly CommandGroup[]): string {
  const nodes = nodesOf(groups);
  const values = new Map<string, string>();
  const files = new Set<string>();
  const paths = nodes.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`]));
  for (const { path, command } of nodes) {
    for (const [name, spec] of optionsOf(command)) {
      if (spec.choices !== undefined) values.set(`${path}|--${name}`, spec.choices.join(' '));
      if (spec.file) files.add(`${path}|--${name}`);
    }
  }
  return [
    '# bash: eval "$(pmx completion bash)", or put it into ~/.local/share/bash-completion/completions/pmx',
    '_pmx() {',
    `  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path="" word at words options`,
    '  for ((at = 1; at < COMP_CWORD; at++)); do',
    `    word=\${COMP_WORDS[at]}`,
    `    case " ${valueOptions(nodes).join(' ')} " in *" $word "*) ((at++)); continue ;; esac`,
    '    [[ $word == -* ]] && continue',
    `    case "\${path:+$path }$word" in`,
    `      ${paths.join('|')}) path="\${path:+$path }$word" ;;`,
    '    esac',
    '  done',
    '  case "$path|$previous" in',
    ...[...values].map(
      ([key, choices]) => `    "${key}") COMPREPLY=($(compgen -W "${choices}" -- "$current")); return ;;`,
    ),
    ...[...files].map((key) => `    "${key}") COMPREPLY=($(compgen -f -- "$current")); return ;;`),
    '  esac',
    '  case "$path" in',
    ...nodes.map(({ path, children, command }) => {
      const options = optionsOf(command).map(([name]) => `--${name}`);
      const choices = argumentsOf(command).flatMap(([, spec]) => spec.choices ?? []);
      const words = [...children.map(({ word }) => word), ...choices].join(' ');
      return `    "${path}") words="${words}" options="${[...options, '--help'].join(' ')}" ;;`;
    }),
    '  esac',
    '  [[ $current == -* || -z $words ]] && words=$options',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    ...fileArguments(nodes),
    '}',
    'complete -F _pmx pmx',
  ].join('\n');
}

function fileArguments(nodes: ReturnType<typeof nodesOf>): string[] {
  const paths = nodes
    .filter(({ command }) => argumentsOf(command).some(([, spec]) => spec.file))
    .map(({ path }) => path);
  if (paths.length === 0) return [];
  const names = paths.map((path) => `"${path}"`).join('|');
  return [`  case "$path" in ${names}) COMPREPLY+=($(compgen -f -- "$current")) ;; esac`];
}
