/**
 * CCXT as it comes from npm, and the class of shared/client/ccxt on it. It is installed in test/peers only, so that the
 * root needs no 60 MB: a hook resolves the name there. Where it is not installed, tests say so and are skipped.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { type Json, ROOT } from './server.ts';

const PEERS = `${ROOT}test/peers/`;
/** The class as one file, where a test has made that. */
const CLASS = process.env['CCXT_CLASS'] ?? `${ROOT}shared/client/ccxt/pmx.ts`;
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
export async function loadCcxt(): Promise<{ ccxt: Json; pmx: Json }> {
  const name: string = 'ccxt';
  const [ccxt, { default: pmx }] = await Promise.all([import(name), import(pathToFileURL(CLASS).href)]);
  return { ccxt, pmx };
}
