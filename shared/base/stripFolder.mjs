/**
 * `node shared/run.mjs shared/base/stripFolder.mjs <folders>`: removes the types from all source files of these folders
 * and keeps the results for keptSources.mjs, which runs this when it misses one. With `--packed` ahead of the folders
 * they are those of a package, and nothing else is there.
 */
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { KEPT, keepText, keptText, PACKED } from './keptFiles.mjs';

/** Results of sources that are gone; those that are still needed are made again. */
const FORGOTTEN_MS = 30 * 24 * 3600 * 1000;

// What the owner of the project keeps is read by the user that the exchange runs as.
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
for (const folder of process.argv.slice(isPacked ? 3 : 2)) {
  // The page is bundled from its sources: no thread loads one of them.
  for (const path of globSync('**/*.ts', { cwd: folder, exclude: ['web/browser/**'] }))
    keep(readFileSync(join(folder, path), 'utf8'));
}

function keep(source) {
  if (keptText(source, kept) !== null) return;
  try {
    keepText(source, stripTypeScriptTypes(source), kept);
  } catch (error) {
    // Node says where the mistake is when it loads that file.
    if (error.code !== 'ERR_INVALID_TYPESCRIPT_SYNTAX' && error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
      throw error;
  }
}
