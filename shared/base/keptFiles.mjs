/**
 * Stores source files without their types, and reads them. The name of a stored file has the hash of its source, and
 * its end has a mark, so an outdated file is never found, and a file that lost its end in a crash of the machine is not
 * used. The name begins as that of its source: npm orders the files of a package by name, so both are neighbours there,
 * and compress to little more than one of them.
 */
import { hash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/**
 * `npm run pack` puts every source there, or the first start of a package does, because Node itself strips no types in
 * packages.
 */
export const PACKED = join(ROOT, 'stripped');
/**
 * Below node_modules, because the result depends on these packages and `npm ci` empties it. Each version of Node strips
 * differently.
 */
const CACHE = join(ROOT, 'node_modules', '.cache', `stripped-${process.version}`);
/** Here Node stores compiled code of processes and threads that end in order, by name and content of each file. */
export const COMPILED = join(ROOT, 'node_modules', '.cache', 'compiled');
/** True if the project is installed among the packages of another project. */
export const isPackage = basename(dirname(ROOT)) === 'node_modules';
export const KEPT = isPackage ? PACKED : CACHE;

/** Null if the file is missing or incomplete. */
export function keptText(path, source, folder = KEPT) {
  const name = nameOf(path, source);
  try {
    const text = readFileSync(join(folder, name), 'utf8');
    return text.endsWith(markOf(name)) ? text : null;
  } catch {
    return null;
  }
}

/** Other processes may read and write the same file: they find all of it or nothing. */
export function keepText(path, source, text, folder = KEPT) {
  const name = nameOf(path, source);
  const unfinished = join(folder, `${name}.${process.pid}`);
  writeFileSync(unfinished, text + markOf(name));
  renameSync(unfinished, join(folder, name));
}

function nameOf(path, source) {
  return `${basename(path, '.ts')}.${hash('sha256', source)}.ts`;
}

function markOf(name) {
  return `\n//${name}\n`;
}
