/**
 * Finds the packages that our files import. In a clone they are below the project; if the project is itself installed
 * as a package, most of them are beside it, and below it are only packages that another package needs in another
 * version.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The version of this project. */
export function ownVersion(): string {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
}

/** The folders in which Node looks for packages, the nearest first. */
export function packageFolders(root = ROOT): string[] {
  const above = dirname(root);
  return [join(root, 'node_modules'), ...(basename(above) === 'node_modules' ? [above] : [])];
}

/**
 * @param file a file of a package, such as `uplot/dist/uPlot.min.css`
 * @returns its path in the package that Node would load
 */
export function packageFile(file: string, folders: readonly string[] = packageFolders()): string {
  const name = file
    .split('/')
    .slice(0, file.startsWith('@') ? 2 : 1)
    .join('/');
  const nearest = folders.find((folder) => existsSync(join(folder, name)));
  return join(nearest ?? folders[0], file);
}
