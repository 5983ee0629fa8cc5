/** The client as its package has it, installed in a directory of its own as a program's dependency. */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackage, runCompiler } from '../packages/build.ts';
import { temporaryDirectory } from './directory.ts';

export { runCompiler as compile };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NAME = 'pmx-client';

/** All that the package is made of: the lock file stands for other packages. */
const READ = ['package-lock.json', 'tsconfig.json', 'test/packages/*.ts', 'shared/**/*.{ts,json}', 'data/docs/sdk.md'];

let made: string | undefined;

/** @returns a directory in which programs import `pmx-client`; all of a process share it */
export function programDirectory(): string {
  made ??= make();
  return made;
}

/** The package. */
export function compiledRoot(): string {
  return join(programDirectory(), 'node_modules', NAME);
}

function make(): string {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'node_modules'));
  cpSync(builtOnce(), join(directory, 'node_modules', NAME), { recursive: true });
  for (const name of ['@noble', '@types', 'viem']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name));
  }
  return directory;
}

/**
 * Several files of the suite, in several processes, need the client compiled from the same sources: it is kept by their
 * hash, beside the sources without types (shared/base/keptFiles.mjs).
 */
function builtOnce(): string {
  const kept = join(ROOT, 'node_modules/.cache', `${NAME}-${hashOf(READ)}`);
  if (existsSync(kept)) return kept;
  const unfinished = `${kept}.${process.pid}`;
  try {
    buildPackage(NAME, unfinished);
    renameSync(join(unfinished, NAME), kept);
  } catch (error) {
    // Another process may have kept it in the meantime: a directory with files is not replaced.
    if (!existsSync(kept)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return kept;
}

function hashOf(patterns: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of globSync(patterns, { cwd: ROOT }).sort()) {
    const text = readFileSync(join(ROOT, path));
    hash.update(`${path} ${text.length}\n`).update(text);
  }
  return hash.digest('hex');
}
