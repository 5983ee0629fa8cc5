/** The sources of the project as the tidy tests read them, and what such a test reports. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export type Source = { path: string; text: string; lines: string[] };

/**
 * Every file of TypeScript, and of AssemblyScript (.as), except the tests of this folder, which contain the patterns
 * that they search for.
 */
export const sources = readAll(
  tracked().filter((path) => /\.(?:ts|as)$/.test(path) && !/^test\/unit\/tidy\//.test(path)),
);

export const documents = readAll(tracked().filter((path) => path.endsWith('.md')));

/** The sources that run in production: everything outside test/ and bench/. */
export const production: readonly Source[] = sources.filter(({ path }) => !/^(test|bench)\//.test(path));

function readAll(paths: readonly string[]): readonly Source[] {
  return paths.map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, lines: text.split('\n') };
  });
}

/** Files git knows or would add; a source without git around it (a packed copy) has nothing to check here. */
export function tracked(): string[] {
  if (!existsSync(join(ROOT, '.git'))) return [];
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  return listed.split('\n').filter((path) => path !== '' && existsSync(join(ROOT, path)));
}

/** Asserts that `check` finds nothing to complain about in any file. */
export function assertClean(files: readonly Source[], check: (source: Source) => readonly string[]): void {
  assertNone(files.flatMap((source) => check(source).map((complaint) => `${source.path}: ${complaint}`)));
}

export function assertNone(complaints: readonly string[]): void {
  assert.deepEqual(complaints, []);
}

/** The lines that match, with their numbers. */
export function linesLike({ lines }: Source, pattern: RegExp): string[] {
  return lines.flatMap((line, index) => (pattern.test(line) ? [`line ${index + 1}: ${line.trim()}`] : []));
}

export type Comment = {
  /** Number of its first line. */
  readonly line: number;
  /** The text without the comment signs, on one line. */
  readonly text: string;
};

/** The comments of a file; consecutive lines of `//` are one comment. */
export function commentsOf({ text }: Source): Comment[] {
  return [...text.matchAll(/^ *\/\*\*[\s\S]*?\*\/|^ *\/\/.*(?:\n *\/\/.*)*/gm)].map((match) => ({
    line: text.slice(0, match.index).split('\n').length,
    text: match[0]
      .replace(/^ *(?:\/\*\*|\*\/|\*|\/\/)/gm, '')
      .replace(/\*\/$/, '')
      .replace(/\s+/g, ' ')
      .trim(),
  }));
}

export type Import = {
  /** Path of the imported file, from the root. */
  readonly target: string;
  /** The imported names; null for the whole file, as `import * as space` or `import '…'`. */
  readonly names: readonly string[] | null;
  /** The local name of `import * as space`. */
  readonly space: string | undefined;
};

const STATIC_IMPORT =
  /^(?:import|export)\s+(?:type\s+)?(?:\{(?<names>[^}]*)\}|\*\s+as\s+(?<space>\w+)|\*)\s+from\s+'(?<from>\.[^']+)'/gm;
const DYNAMIC_IMPORT = /(?:\{(?<names>[^}]*)\}\s*=\s*)?\(?await import\('(?<from>\.[^']+)'\)\)?(?:\.(?<member>\w+))?/g;

/** The relative imports and re-exports of a file. */
export function importsOf({ path, text }: Source): Import[] {
  return [...text.matchAll(STATIC_IMPORT), ...text.matchAll(DYNAMIC_IMPORT)].map(({ groups = {} }) => ({
    // AssemblyScript adds the end itself.
    target: join(dirname(path), groups['from']) + (path.endsWith('.as') ? '.as' : ''),
    names: groups['names'] === undefined ? (groups['member'] ? [groups['member']] : null) : split(groups['names']),
    space: groups['space'],
  }));
}

/** `a, type B, c as d` → a, B, c: the names as the imported file spells them. */
function split(list: string): string[] {
  return list
    .split(',')
    .map((name) =>
      name
        .trim()
        .replace(/^type\s+/, '')
        .split(/\s+as\s+|:/)[0]
        .trim(),
    )
    .filter((name) => name !== '');
}
