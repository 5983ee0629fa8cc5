/** The client as its package has it, installed in a directory of its own as a program's dependency. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackage, runCompiler } from '../packages/build.ts';
import { temporaryDirectory } from './directory.ts';

export { runCompiler as compile };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NAME = 'pmx-client';

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
  buildPackage(NAME, join(directory, 'node_modules'));
  for (const name of ['@noble', '@types', 'viem']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name));
  }
  return directory;
}
