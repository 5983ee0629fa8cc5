/** The completion of bash. */
import type { CommandGroup } from '../frame/command.ts';
import { argumentsOf, LIST_PROFILES, nodesOf, optionsOf, SETTINGS_FILE, valueOptions } from '../frame/tree.ts';

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
    '# With eval, also of `npx pmx` in a clone, and of an alias pmx.',
    '_pmx_profiles() {',
    `  ${LIST_PROFILES} "\${PMX_CONFIG:-\${XDG_CONFIG_HOME:-$HOME/.config}/${SETTINGS_FILE}}" 2>/dev/null`,
    '}',
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
    '  [[ $previous == --profile ]] && { COMPREPLY=($(compgen -W "$(_pmx_profiles)" -- "$current")); return; }',
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
    ...moreArguments(nodes, 'file', 'compgen -f -- "$current"'),
    ...moreArguments(nodes, 'profile', 'compgen -W "$(_pmx_profiles)" -- "$current"'),
    '}',
    'complete -F _pmx pmx',
    '_pmx_npx() {',
    `  [[ $COMP_CWORD -gt 1 && \${COMP_WORDS[1]} =~ ^pmx(-cli)?$ ]] || return`,
    `  COMP_WORDS=("\${COMP_WORDS[@]:1}")`,
    '  ((COMP_CWORD--))',
    '  _pmx',
    '}',
    'complete -o default -F _pmx_npx npx',
  ].join('\n');
}

/** Words that a command line finds when it is completed: files and profiles. */
function moreArguments(nodes: ReturnType<typeof nodesOf>, kind: 'file' | 'profile', words: string): string[] {
  const paths = nodes
    .filter(({ command }) => argumentsOf(command).some(([, spec]) => spec[kind]))
    .map(({ path }) => path);
  if (paths.length === 0) return [];
  const names = paths.map((path) => `"${path}"`).join('|');
  return [`  case "$path" in ${names}) COMPREPLY+=($(${words})) ;; esac`];
}
