/**
 * Commands about the program itself: shell completions and the reference page. Both are made from the table of
 * commands.
 */
import { type Command, type CommandGroup, command } from '../frame/command.ts';
import { bashScript } from '../written/bash.ts';
import { fishScript } from '../written/fish.ts';
import { referencePage } from '../written/reference.ts';
import { zshScript } from '../written/zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type Shell = keyof typeof SCRIPTS;

/** @param table returns the table that contains these commands themselves, so it is called only when they run. */
export function aboutProgram(table: () => readonly CommandGroup[]): Command[] {
  return [
    command({
      name: 'completion',
      summary: 'Print the completion of a shell',
      access: 'anyone',
      arguments: { shell: { description: 'the shell', choices: Object.keys(SCRIPTS) } },
      examples: [
        'completion bash > ~/.local/share/bash-completion/completions/pmx',
        'completion zsh > "$fpath[1]/_pmx"',
        'completion fish > ~/.config/fish/completions/pmx.fish',
      ],
      json: '`{shell, script}`',
      run: async (_, { shell }) => {
        const script = SCRIPTS[shell as Shell](table());
        return { value: { shell, script }, lines: [script] };
      },
    }),
    command({
      name: 'reference',
      summary: 'Print the reference of all commands as Markdown',
      access: 'anyone',
      examples: ['reference > cli.md'],
      json: '`{page}`',
      run: async () => {
        const page = referencePage(table());
        return { value: { page }, lines: [page.trimEnd()] };
      },
    }),
  ];
}
