/**
 * For `--import` in a server of the tests, and in its threads: loads programs that builtPrograms.ts has built, from the
 * directory that the `in` of this file's address names, and everything else as keptSources.mjs does.
 *
 * Written in plain JavaScript, because Node would have to strip this file in every thread.
 */
import { existsSync, readFileSync } from 'node:fs';
import { enableCompileCache, registerHooks } from 'node:module';
import { join } from 'node:path';

const ROOT_URL = new URL('../../', import.meta.url).href;
const directory = new URL(import.meta.url).searchParams.get('in');

// Before keptSources.mjs, which would keep the compiled programs of this run for ever.
enableCompileCache(join(directory, 'compiled'));
await import('../../shared/base/keptSources.mjs');
registerHooks({ load });

function load(url, context, nextLoad) {
  const path = url.startsWith(ROOT_URL) ? join(directory, `${url.slice(ROOT_URL.length)}.js`) : null;
  if (path === null || !existsSync(path)) return nextLoad(url, context);
  return { format: 'module', source: readFileSync(path, 'utf8'), shortCircuit: true };
}
