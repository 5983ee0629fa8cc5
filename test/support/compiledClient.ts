/** The client as `npm pack` compiles it, installed in a directory of its own as a program's dependency. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from './directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

const BUILD = 'shared/client/tsconfig.build.json';
/** All that the compiler reads: the lock file stands for the packages. */
const READ = ['package-lock.json', 'tsconfig.json', BUILD, 'shared/**/*.ts'];

let made: string | undefined;

/** @returns a directory in which programs import `open-prediction-exchange/client`; all of a process share it */
export function programDirectory(): string {
  made ??= make();
  return made;
}

/** The compiled modules. */
export function compiledRoot(): string {
  return join(programDirectory(), 'node_modules/open-prediction-exchange/dist');
}

/** Runs the compiler in the directory; throws an error with what it prints. */
export function compile(directory: string, ...args: string[]): void {
  try {
    execFileSync(process.execPath, [TSC, ...args], { cwd: directory, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout || String(error));
  }
}

function make(): string {
  const directory = temporaryDirectory();
  const installed = join(directory, 'node_modules/open-prediction-exchange');
  mkdirSync(installed, { recursive: true });
  copyFileSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
  cpSync(compiledOnce(), join(installed, 'dist'), { recursive: true });
  for (const name of ['@noble', '@types', 'hash-wasm', 'viem']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name));
  }
  return directory;
}

/**
 * Four files of the suite, in as many processes, need what the compiler makes of the same sources: it is kept by their
 * hash, beside what is kept of them without their types (shared/base/keptFiles.mjs).
 */
function compiledOnce(): string {
  const kept = join(ROOT, 'node_modules/.cache', `client-${hashOf(READ)}`);
  if (existsSync(kept)) return kept;
  const unfinished = `${kept}.${process.pid}`;
  try {
    compile(ROOT, '-p', BUILD, '--outDir', unfinished);
    renameSync(unfinished, kept);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another process may have kept it meanwhile: a directory with files is not replaced.
    if (!existsSync(kept)) throw error;
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
