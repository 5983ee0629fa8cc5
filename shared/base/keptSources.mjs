/**
 * For `--import`, before the source files of a process or thread: loads source files with their types already removed.
 * Removing the types took more than a third of the processor time of a start, and gives the same result until the
 * source changes, so results are stored (keptFiles.mjs). Lines and columns stay the same. Compiled code of V8 is stored
 * too, by processes that end in order: without it the main thread of a start compiles for 0.2 s.
 *
 * Nothing depends on the stored files. If one is missing, a separate process strips the whole folder (stripFolder.mjs),
 * because a thread must not do that itself (stripTypes.ts says why). If nothing can be stored, stripTypes.ts does the
 * work again for each thread.
 *
 * Written in plain JavaScript, because Node would have to strip this file in every thread.
 */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { enableCompileCache, register, registerHooks } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { COMPILED, isPackage, KEPT, keptText, ROOT } from './keptFiles.mjs';

/** Folders that were stripped for this thread: trying again would give the same result. */
const stripped = new Set();

const ROOT_URL = pathToFileURL(ROOT).href;

if (existsSync(KEPT) || canKeep()) {
  registerHooks({ resolve, load });
  if (!isPackage) enableCompileCache(COMPILED);
} else if (!isMainThread) register('./stripTypes.ts', import.meta.url);

/** By itself Node would look for the package of each of hundreds of files, and for links on the way to it. */
function resolve(specifier, context, nextResolve) {
  const isOwn = specifier.startsWith('.') && specifier.endsWith('.ts') && context.parentURL?.startsWith(ROOT_URL);
  const url = isOwn ? new URL(specifier, context.parentURL) : null;
  if (url === null || !existsSync(url)) return nextResolve(specifier, context);
  return { url: url.href, format: 'module', shortCircuit: true };
}

function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const text = path.startsWith(ROOT) ? strippedText(path) : null;
  // The source has changed since, and results cannot be written: Node strips the file itself.
  if (text === null) return nextLoad(url, { ...context, format: 'module-typescript' });
  return { format: 'module', source: text, shortCircuit: true };
}

function strippedText(path) {
  const source = readFileSync(path, 'utf8');
  const text = keptText(path, source);
  const folder = ROOT + path.slice(ROOT.length).split(sep, 1)[0];
  if (text !== null || stripped.has(folder)) return text;
  stripped.add(folder);
  strip(folder);
  return keptText(path, source);
}

function strip(folder) {
  const program = fileURLToPath(new URL('./stripFolder.mjs', import.meta.url));
  // Nearly every thread finds everything that it needs, so it does not load this.
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', program, folder], { stdio: 'ignore', env: {} });
}

function canKeep() {
  try {
    accessSync(isPackage ? ROOT : join(ROOT, 'node_modules'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
