/**
 * Strips the types from source files in a separate thread instead of in the thread that imports them.
 *
 * Node strips with a WebAssembly program whose memory grows, and growing detaches the old buffer. After that, V8 checks
 * every access to a typed array in the thread for a detached buffer, which costs a sixth of the engine's time
 * (matching.bench.ts measures both). So a thread that works on typed arrays must never strip types.
 */
import { type LoadHook, stripTypeScriptTypes } from 'node:module';

/**
 * For a process, or the `execArgv` of a worker: its files are already stripped, or Node runs this file as hooks for it.
 */
export const STRIPPED_BEFORE = [
  '--disable-warning=ExperimentalWarning',
  '--import',
  new URL('./keptSources.mjs', import.meta.url).href,
];

/** Called by Node, in the hooks thread. */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  if (loaded.format !== 'module-typescript') return loaded;
  return { ...loaded, format: 'module', source: stripTypeScriptTypes(String(loaded.source), { sourceUrl: url }) };
};
