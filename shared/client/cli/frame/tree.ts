/** The table of commands as the tree that completions and the reference page need. */
import type { ArgumentSpec, Command, CommandGroup, OptionSpec } from './command.ts';
import { GLOBAL_OPTIONS } from './globalOptions.ts';

/** A word of the command line with the words that may follow it; `command` if it can be called. */
export type Node = { readonly path: string; readonly children: readonly Child[]; readonly command: Command | null };
type Child = { readonly word: string; readonly summary: string };

/** The program itself comes first, with an empty path. */
export function nodesOf(groups: readonly CommandGroup[]): Node[] {
  const commands = groups.flatMap((group) => group.commands);
  const paths = new Set<string>(['']);
  for (const { name } of commands) {
    const words = name.split(' ');
    for (let count = 1; count <= words.length; count++) paths.add(words.slice(0, count).join(' '));
  }
  return [...paths].map((path) => ({
    path,
    children: childrenOf(path, paths, groups),
    command: commands.find(({ name }) => name === path) ?? null,
  }));
}

function childrenOf(path: string, paths: ReadonlySet<string>, groups: readonly CommandGroup[]): Child[] {
  const prefix = path === '' ? '' : `${path} `;
  const commands = groups.flatMap((group) => group.commands);
  return [...paths]
    .filter((other) => other !== '' && other.startsWith(prefix) && !other.slice(prefix.length).includes(' '))
    .filter((other) => other !== path)
    .map((other) => {
      const own = commands.find(({ name }) => name === other)?.summary;
      const group = groups.find(({ word }) => word === other)?.title;
      return {
        word: other.slice(prefix.length),
        summary: own ?? group ?? `commands for ${other.slice(prefix.length)}`,
      };
    });
}

/** All options of a command, with those that every command has. */
export function optionsOf(command: Command | null): [string, OptionSpec][] {
  return [...Object.entries(command?.options ?? {}), ...Object.entries(GLOBAL_OPTIONS)];
}

export function argumentsOf(command: Command | null): [string, ArgumentSpec][] {
  return Object.entries(command?.arguments ?? {});
}

/** The options that are followed by a value, with their dashes. */
export function valueOptions(nodes: readonly Node[]): string[] {
  const options = nodes.flatMap(({ command }) => optionsOf(command));
  return [...new Set(options.filter(([, { value }]) => value !== undefined).map(([name]) => `--${name}`))];
}

/**
 * Works in every shell: the names of the profiles are the keys at this depth of the settings, which pmx writes itself.
 */
export const LIST_PROFILES = `sed -n 's/^    "\\([^"]*\\)": {.*/\\1/p'`;
export const SETTINGS_FILE = 'open-prediction-exchange/config.json';
