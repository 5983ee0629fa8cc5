/** The version of this program: that of the package whose file it runs from. */
import { existsSync, readFileSync } from 'node:fs';

/** The nearest package.json above this file: of the project, or of the package that has the program in one file. */
export function programVersion(): string {
  let place = new URL('package.json', import.meta.url);
  while (!existsSync(place) && place.pathname !== '/package.json') place = new URL('../package.json', place);
  return JSON.parse(readFileSync(place, 'utf8')).version;
}
