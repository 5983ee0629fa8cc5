/** The client as `npm pack` compiles it, installed in a directory of its own as a program's dependency. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from './directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

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
  compile(ROOT, '-p', 'shared/client/tsconfig.build.json', '--outDir', join(installed, 'dist'));
  for (const name of ['@noble', '@types', 'hash-wasm', 'viem']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name));
  }
  return directory;
}
