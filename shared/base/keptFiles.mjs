/**
 * Where source files are kept with their types removed, and how they are read and written there. A kept file is named by
 * the hash of its source and ends with a mark, so one that is out of date is never found, and one that lost its end when
 * the machine went down is not used.
 */
import { hash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** `npm run pack` puts every source there, or the first start of a package: Node itself strips no types in packages. */
export const PACKED = join(ROOT, 'stripped');
/** Below node_modules, because it belongs to these packages and `npm ci` empties it. Each Node has its own way to strip. */
const CACHE = join(ROOT, 'node_modules', '.cache', `stripped-${process.version}`);
/** Node keeps there what V8 has compiled of a process or thread that ends in order, by name and content of each file. */
export const COMPILED = join(ROOT, 'node_modules', '.cache', 'compiled');
/** It is installed among the packages of another project. */
export const isPackage = basename(dirname(ROOT)) === 'node_modules';
export const KEPT = isPackage ? PACKED : CACHE;

/** Null when it is not there, or not whole. */
export function keptText(source, folder = KEPT) {
  const name = nameOf(source);
  try {
    const text = readFileSync(join(folder, name), 'utf8');
    return text.endsWith(markOf(name)) ? text : null;
  } catch {
    return null;
  }
}

/** Other processes may read and write the same file: they find the whole of it or nothing. */
export function keepText(source, text, folder = KEPT) {
  const name = nameOf(source);
  const unfinished = join(folder, `${name}.${process.pid}`);
  writeFileSync(unfinished, text + markOf(name));
  renameSync(unfinished, join(folder, name));
}

function nameOf(source) {
  return hash('sha256', source);
}

function markOf(name) {
  return `\n//${name}\n`;
}
