/**
 * For `--import`, ahead of the source files of a process or thread: loads them with their types removed already.
 * Removing them took more than a third of the processor time of a start, and gives the same result until the source
 * changes, so results are kept (keptFiles.mjs). Lines and columns stay what they are. What V8 makes of them is kept too,
 * by the processes that end in order: the main thread of a start compiles for 0.2 s without it.
 *
 * Nothing depends on what is kept. When a file is missing there, a process of its own strips the whole folder
 * (stripFolder.mjs), for a thread must not do that itself (stripTypes.ts says why). Where nothing can be kept,
 * stripTypes.ts does the work again for each thread.
 *
 * Written in plain JavaScript, because Node would have to strip this file in every thread.
 */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { enableCompileCache, register, registerHooks } from 'node:module';
import { join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { COMPILED, isPackage, KEPT, keptText, ROOT } from './keptFiles.mjs';

/** Folders that were stripped for this thread: another try would find the same. */
const stripped = new Set();

const ROOT_URL = pathToFileURL(ROOT).href;

if (existsSync(KEPT) || canKeep()) {
  registerHooks({ resolve, load });
  if (!isPackage) enableCompileCache(COMPILED);
} else if (!isMainThread) register('./stripTypes.ts', import.meta.url);

/** Node would look for the package that each of hundreds of files belongs to, and for links on the way to it. */
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
  // Sources that were changed since, beside results that cannot be written: Node strips each by itself.
  if (text === null) return nextLoad(url, { ...context, format: 'module-typescript' });
  return { format: 'module', source: text, shortCircuit: true };
}

function strippedText(path) {
  const source = readFileSync(path, 'utf8');
  const text = keptText(source);
  const folder = ROOT + path.slice(ROOT.length).split(sep, 1)[0];
  if (text !== null || stripped.has(folder)) return text;
  stripped.add(folder);
  strip(folder);
  return keptText(source);
}

function strip(folder) {
  const program = fileURLToPath(new URL('./stripFolder.mjs', import.meta.url));
  // Nearly every thread finds all it needs, so it does not load this.
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
