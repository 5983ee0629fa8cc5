/**
 * `node shared/run.mjs shared/base/stripFolder.mjs <folders>`: removes the types from all source files of these folders
 * and stores the results for keptSources.mjs, which runs this if a result is missing. With `--packed` before the
 * folders, the results become part of a package, and nothing else is stored there.
 */
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { KEPT, keepText, keptText, PACKED } from './keptFiles.mjs';

/** Deletes results of sources that no longer exist; results that are still needed are made again. */
const FORGOTTEN_MS = 30 * 24 * 3600 * 1000;

// The user as whom the exchange runs must be able to read files that the project's owner stores.
process.umask(0o022);
const isPacked = process.argv[2] === '--packed';
const kept = isPacked ? PACKED : KEPT;
if (isPacked) rmSync(kept, { recursive: true, force: true });
mkdirSync(kept, { recursive: true });
for (const name of readdirSync(kept)) {
  const path = join(kept, name);
  const keptMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  if (Date.now() - keptMs > FORGOTTEN_MS) rmSync(path, { force: true });
}
// A program that a package does not have; and packages that tests install.
const LEFT_OUT = ['web/browser/**', '**/node_modules', ...(isPacked ? ['programs/polymarket/**'] : [])];
for (const folder of process.argv.slice(isPacked ? 3 : 2)) {
  // The page is bundled from its sources: no thread loads one of them.
  for (const path of globSync('**/*.ts', { cwd: folder, exclude: LEFT_OUT }))
    keep(path, readFileSync(join(folder, path), 'utf8'));
}

function keep(path, source) {
  if (keptText(path, source, kept) !== null) return;
  try {
    keepText(path, source, stripTypeScriptTypes(source), kept);
  } catch (error) {
    // Node reports the position of the mistake when it loads that file.
    if (error.code !== 'ERR_INVALID_TYPESCRIPT_SYNTAX' && error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
      throw error;
  }
}
