/**
 * The tests that a change touches, for `npm test -- --changed`. A test of a server reaches every source, so being
 * reached is not enough; the tests of a changed file are
 *
 * - the file itself, if it is a test, and the tests that import it, over any number of other files of test/;
 * - for a source also the tests with which `npm run mutate` looks for a fault in it (mutate/testsOf.ts): the one at its
 *   path, those that use it, and those of its area over a server;
 * - for a schema, a kernel, a style sheet and so on, the tests of the files that name it;
 * - for a document, those of the documents;
 *
 * and always the tests of the code as a whole, which read every file.
 */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TestMap } from '../mutate/testsOf.ts';

const CODE = /\.(?:ts|mjs)$/;
/** An import loads a file, and so does the address of a thread. Types change no behaviour. */
const LOADED = /(?:^|[\s(])(?:from|import|import\(|new URL\()\s*['`](\.[^'`]+)['`]/gm;
const TYPES = /^(?:import|export) type\b[^;]*;/gm;
const OF_EVERYTHING = ['test/unit/tidy/'];
const OF_DOCUMENTS = ['test/unit/docs/', 'test/unit/guides/'];
/** A package, or a new version of one, can change anything. */
const PACKAGES = ['package.json', 'package-lock.json'];

/** Compared with the commit, or with the one at which the branch left `base`; also files that git does not know yet. */
export function changedFiles(root: string, base: string | null): string[] {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const since = base === null ? 'HEAD' : git('merge-base', 'HEAD', base).trim();
  const names = [
    git('diff', '--name-only', '--no-renames', '-z', since),
    git('ls-files', '--others', '--exclude-standard', '-z'),
  ];
  return [...new Set(names.flatMap((list) => list.split('\0')).filter((name) => name !== ''))].sort();
}

export class ChangedTests {
  readonly #tests: readonly string[];
  readonly #code: CodeOf;
  readonly #map: TestMap;

  constructor(root: string) {
    this.#tests = globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules'] }).sort();
    this.#code = new CodeOf(root);
    this.#map = new TestMap(root);
  }

  /** The tests that changes of these files touch. */
  of(changed: readonly string[]): string[] {
    if (changed.length === 0) return [];
    if (changed.some((file) => PACKAGES.includes(file))) return [...this.#tests];
    const found = new Set([...this.#below(OF_EVERYTHING), ...changed.flatMap((file) => this.#testsOf(file))]);
    return this.#tests.filter((test) => found.has(test));
  }

  #testsOf(file: string): string[] {
    if (file.endsWith('.md')) return this.#below(OF_DOCUMENTS);
    const loading = CODE.test(file) ? [file] : this.#code.naming(file);
    return loading.flatMap((one) => {
      const ofSource = one.startsWith('test/') ? [] : this.#map.testsOf(one);
      return [...this.#code.testsLoading(one), ...ofSource];
    });
  }

  #below(folders: readonly string[]): string[] {
    return this.#tests.filter((test) => folders.some((folder) => test.startsWith(folder)));
  }
}

/** The sources and the files of test/, with what each loads. */
class CodeOf {
  readonly #texts: ReadonlyMap<string, string>;
  /** By file: the files of test/ that load it. */
  readonly #loadedBy = new Map<string, string[]>();

  constructor(root: string) {
    const paths = globSync('{bench,engine,gateway,shared,test}/**/*.{ts,mjs}', {
      cwd: root,
      exclude: ['**/node_modules'],
    });
    this.#texts = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
    for (const [path, text] of this.#texts) if (path.startsWith('test/')) this.#addLoads(path, text);
  }

  #addLoads(path: string, text: string): void {
    for (const [, to] of text.replace(TYPES, '').matchAll(LOADED)) {
      const target = join(dirname(path), to!);
      const loading = this.#loadedBy.get(target);
      if (loading === undefined) this.#loadedBy.set(target, [path]);
      else loading.push(path);
    }
  }

  /** The tests among the file, the files of test/ that load it, and those that load them. */
  testsLoading(file: string): string[] {
    const reached = new Set([file]);
    for (const one of reached) for (const loading of this.#loadedBy.get(one) ?? []) reached.add(loading);
    return [...reached].filter((one) => one.endsWith('.test.ts') && this.#texts.has(one));
  }

  /** Files in which the name of the file, or of its folder, stands: a schema is read together with others. */
  naming(file: string): string[] {
    const names = [basename(file), `${basename(dirname(file))}/$`];
    return [...this.#texts].filter(([, text]) => names.some((name) => text.includes(name))).map(([path]) => path);
  }
}
