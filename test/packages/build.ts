/**
 * Makes the packages of shared/client/npm: the client as modules with their declarations, and `pmx` in one file. Fields
 * that their manifests leave open come from the project: version, licence, versions of dependencies, and the
 * repository.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { init, parse } from 'es-module-lexer';
import { buildSync } from 'esbuild';
import { GROUPS } from '../../shared/client/cli/groups.ts';
import { referencePage } from '../../shared/client/cli/written/reference.ts';
import { firstPage } from './firstPage.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MANIFESTS = join(ROOT, 'shared/client/npm');
const TSC = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
/** The document of each, and the heading that ends its first page. */
const DOCUMENTS = {
  'pmx-client': { text: () => readFileSync(join(ROOT, 'data/docs/sdk.md'), 'utf8'), next: 'Changing and cancelling' },
  'pmx-cli': { text: () => referencePage(GROUPS), next: 'Signing in' },
};
/** All that the compiled client follows from: the lock file stands for other packages, the compiler among them. */
const COMPILED_FROM = ['package-lock.json', 'tsconfig.json', 'test/packages', 'shared'];
await init;

type PackageName = keyof typeof DOCUMENTS;

/** Makes the package in a folder of its name in `into`, from nothing. */
export function buildPackage(name: PackageName, into: string): void {
  const folder = join(into, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  if (name === 'pmx-client') cpSync(compiledOnce(), folder, { recursive: true });
  else bundleProgram(join(folder, 'pmx.js'));
  // A copy that is no clone has no remotes.
  const { stdout } = spawnSync('git', ['remote', '-v'], { cwd: ROOT, encoding: 'utf8' });
  const manifest = manifestOf(name, repositoryOf(stdout));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const { text, next } = DOCUMENTS[name];
  writeFileSync(join(folder, 'README.md'), firstPage(text(), next));
  copyFileSync(join(MANIFESTS, name, 'CHANGELOG.md'), join(folder, 'CHANGELOG.md'));
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
}

type Manifest = { readonly dependencies: Record<string, string>; readonly [member: string]: unknown };

function manifestOf(name: PackageName, repository: string | null): object {
  const project = manifestIn(join(ROOT, 'package.json'));
  const { description, dependencies, ...rest } = manifestIn(join(MANIFESTS, name, 'package.json'));
  const versions = Object.keys(dependencies).map((dependency) => [dependency, project.dependencies[dependency]]);
  return {
    name,
    version: project['version'],
    description,
    license: project['license'],
    ...(repository === null ? {} : { repository: { type: 'git', url: repository } }),
    ...rest,
    dependencies: Object.fromEntries(versions),
  };
}

function manifestIn(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/**
 * The repository of this clone: a provenance statement is refused if the package names another repository than the one
 * that publishes it. Null for a clone of a folder.
 * @param remotes as `git remote -v` prints them
 */
export function repositoryOf(remotes: string): string | null {
  const [, address] = /^origin\t(\S+) \(fetch\)$/m.exec(remotes) ?? [];
  const [, host, path] =
    /^(?:https:\/\/|ssh:\/\/)?(?:[^@/]*@)?([\w-]+(?:\.[\w-]+)+)[/:](.+?)(?:\.git)?$/.exec(address ?? '') ?? [];
  return host === undefined ? null : `git+https://${host}/${path}.git`;
}

/**
 * The compiler takes seconds, and several tests and documents need the client of the same sources: it is kept by their
 * hash, beside the sources without types (shared/base/keptFiles.mjs).
 */
function compiledOnce(): string {
  const kept = join(ROOT, 'node_modules/.cache', `client-${hashOf(COMPILED_FROM.flatMap(sourcesIn))}`);
  if (existsSync(kept)) return kept;
  const unfinished = `${kept}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    compileClient(unfinished);
    renameSync(unfinished, kept);
  } catch (error) {
    // Another process may have kept it in the meantime: a directory with files is not replaced.
    if (!existsSync(kept)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return kept;
}

/** The file, or the sources in the folder. */
function sourcesIn(path: string): string[] {
  if (path.includes('.')) return [path];
  const names = readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /\.(?:ts|json)$/.test(name)).map((name) => join(path, name));
}

function hashOf(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths.toSorted()) {
    const text = readFileSync(join(ROOT, path));
    hash.update(`${path} ${text.length}\n`).update(text);
  }
  return hash.digest('hex');
}

/**
 * The modules that a program can come to from the index, and the declarations likewise. Comments stay in declarations
 * alone: editors show those, and browsers would load the others.
 */
function compileClient(folder: string): void {
  const compiled = join(folder, 'compiled');
  const project = ['-p', join(MANIFESTS, 'tsconfig.json'), '--outDir', compiled];
  runCompiler(ROOT, ...project, '--emitDeclarationOnly');
  runCompiler(ROOT, ...project, '--declaration', 'false', '--removeComments');
  const index = join(compiled, 'client/index');
  for (const path of reached(`${index}.js`, modulesOf)) keep(path, (text) => text);
  for (const path of reached(`${index}.d.ts`, declarationsOf)) keep(path, withoutNotes);
  rmSync(compiled, { recursive: true });

  function keep(path: string, changed: (text: string) => string): void {
    const to = join(folder, relative(compiled, path));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, changed(readFileSync(path, 'utf8')));
  }
}

/** Throws an error with the compiler's output. */
export function runCompiler(directory: string, ...args: string[]): void {
  try {
    execFileSync(process.execPath, [TSC, ...args], { cwd: directory, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout || String(error));
  }
}

function reached(entry: string, importsOf: (text: string) => string[]): Set<string> {
  const paths = new Set([entry]);
  for (const path of paths) {
    for (const specifier of importsOf(readFileSync(path, 'utf8'))) paths.add(join(dirname(path), specifier));
  }
  return paths;
}

function modulesOf(text: string): string[] {
  return parse(text)[0].flatMap(({ specifier }) => (specifier?.startsWith('.') ? [specifier] : []));
}

/** The compiler leaves the endings of sources in declarations, and finds them by those. */
function declarationsOf(text: string): string[] {
  return [...text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.(?:ts|js)['"]/g)].map(([, path]) => `${path}.d.ts`);
}

/** Half of the declarations is what schemas say beside types, from which no type follows (shared/api/schema.ts). */
const NOTE = /^readonly (?:description|examples|pattern|format|minimum|maximum|minLength|maxLength): ['"`\d].*;\n/gm;
const EXAMPLES = /^readonly examples: readonly \[.*\];\n/gm;

function withoutNotes(declarations: string): string {
  return declarations
    .replaceAll(/^ +(?!\*)/gm, '')
    .replaceAll(NOTE, '')
    .replaceAll(EXAMPLES, '');
}

/** One file starts faster than a hundred. */
function bundleProgram(outfile: string): void {
  buildSync({
    entryPoints: [join(ROOT, 'shared/client/cli/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    packages: 'external',
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: '#!/usr/bin/env node' },
    logLevel: 'error',
  });
}
