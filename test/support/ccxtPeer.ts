/**
 * CCXT as it comes from npm, and the class of shared/client/ccxt on it. It is installed in test/peers only, so that the
 * root needs no 60 MB: a hook resolves the name there. Where it is not installed, tests say so and are skipped.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { type Json, ROOT } from './server.ts';

const PEERS = `${ROOT}test/peers/`;
const CLASS = `${ROOT}shared/client/ccxt/pmx.ts`;
export const NO_CCXT = existsSync(`${PEERS}node_modules/ccxt`)
  ? false
  : 'ccxt is not installed: npm ci --prefix test/peers';

const parentURL = pathToFileURL(`${PEERS}package.json`).href;
if (NO_CCXT === false) {
  registerHooks({
    resolve: (name, context, next) => next(name, name === 'ccxt' ? { ...context, parentURL } : context),
  });
}

/** By variables: the types of CCXT are not there where it is not installed. */
export async function loadCcxt(): Promise<{ ccxt: Json; pmx: Json; errors: Json; description: Json }> {
  const name: string = 'ccxt';
  const of = (file: string): Promise<Json> => import(pathToFileURL(CLASS.replace('pmx.ts', file)).href);
  const [ccxt, { default: pmx }, errors, description] = await Promise.all([
    import(name),
    of('pmx.ts'),
    of('errors.ts'),
    of('describe.ts'),
  ]);
  return { ccxt, pmx, errors, description };
}
