/**
 * The class of CCXT as one file, as CCXT's repository has a class of a prediction venue: `ts/src/prediction/pmx.ts`.
 * The parts are one class there, written as CCXT's build wants it (ccxtDialect.ts), and what they import has its places
 * there. Its routes are the file that CCXT's own build writes, `abstract/prediction/pmx.ts`; this makes that one as
 * well.
 *
 *     node shared/run.mjs test/peers/ccxtUpstream.ts FOLDER
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadCcxt } from '../support/ccxtPeer.ts';
import { foreignIn, inDialect } from './ccxtDialect.ts';
import { withDocs } from './ccxtDocs.ts';

const SOURCES = new URL('../../shared/client/ccxt/', import.meta.url);
/** In the order that CCXT's own classes have. */
const PARTS = ['describe', 'errors', 'requests', 'markets', 'quotes', 'account', 'trading', 'streams', 'pmx'] as const;
const CLASS = /^export (?:default |abstract )*class \w+ extends \w+ \{\n/m;
const TYPES = ['Dict', 'Int', 'Num', 'OrderSide', 'OrderType', 'Str', 'Strings'] as const;

async function upstreamClass(): Promise<string> {
  const bodies = PARTS.map((name) => bodyOf(readFileSync(new URL(`${name}.ts`, SOURCES), 'utf8')));
  const source = `export default class pmx extends Exchange {\n${bodies.join('\n\n')}\n}\n`;
  const foreign = await foreignIn(source);
  if (foreign.length > 0) throw new Error(`CCXT's build does not take ${foreign.join(', ')}`);
  const { ccxt, pmx } = await loadCcxt();
  const overridden = new Set<string>();
  for (let base = ccxt.PredictionExchange.prototype; base !== Object.prototype; base = Object.getPrototypeOf(base)) {
    for (const name of Object.getOwnPropertyNames(base)) overridden.add(name);
  }
  const unified = new Set<string>(Object.keys(new pmx({}).capabilities()));
  const text = withDocs(await inDialect(source, overridden), unified);
  const line = '// ---------------------------------------------------------------------------';
  const head = [line, '', ...importsOf(text), '', line, '', '/**', ' * @class pmx', ' * @augments Exchange', ' */'];
  return `${head.join('\n')}\n${text}`;
}

function upstreamRoutes(): string {
  const text = withoutImports(readFileSync(new URL('abstract.ts', SOURCES), 'utf8'));
  const head = [
    `import Exchange from '../../base/PredictionExchange.js';`,
    `import type { Dict } from '../../base/types.js';`,
  ];
  const renamed = text.replace(
    /export abstract class Routes extends PredictionExchange/,
    'abstract class pmx extends Exchange',
  );
  return `${[...head, renamed.trim(), 'export default pmx;'].join('\n')}\n`;
}

/** This is between the brackets of the class. In one class a method that a later part has is just there. */
function bodyOf(source: string): string {
  const opening = CLASS.exec(source);
  if (opening === null) throw new Error(`no class begins in ${source.slice(0, 200)}`);
  const start = opening.index + opening[0].length;
  const end = source.indexOf('\n}\n', start);
  if (source.slice(end + '\n}\n'.length).trim() !== '') throw new Error('something stands after the class');
  return source.slice(start, end).replaceAll(/\n\n(?: +\/\*\*.*\*\/\n)? +abstract .*;$/gm, '');
}

function withoutImports(source: string): string {
  return source.replaceAll(/^import (?:[^;]*?)from '[^']*';\n/gm, '');
}

/** Only what the text uses, as CCXT's linter wants it. */
function importsOf(text: string): string[] {
  const isUsed = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);
  const list = (names: readonly string[]): string => names.filter(isUsed).join(', ');
  const upstream = readFileSync(new URL('upstream.ts', SOURCES), 'utf8');
  const values = /export \{([^}]*)\} from 'ccxt';/.exec(upstream)![1]!.match(/\w+/g)!;
  const errors = values.filter((name) => name !== 'Precise' && name !== 'PredictionExchange');
  return [
    `import { sha256 } from '@noble/hashes/sha2.js';`,
    `import { keccak_256 as keccak } from '@noble/hashes/sha3.js';`,
    `import { secp256k1 } from '@noble/curves/secp256k1.js';`,
    `import Exchange from '../abstract/prediction/pmx.js';`,
    `import { ecdsa } from '../base/functions/crypto.js';`,
    `import { TICK_SIZE } from '../base/functions/number.js';`,
    `import { Precise } from '../base/Precise.js';`,
    `import { ArrayCache, ArrayCacheByOutcomeById } from '../base/ws/Cache.js';`,
    `import type { ${list(TYPES)} } from '../base/types.js';`,
    `import { ${list(errors)} } from '../base/errors.js';`,
  ];
}

/** Writes both files below a folder that stands for `ts/src`. */
export async function writeUpstream(folder: string): Promise<void> {
  for (const [path, text] of [
    ['prediction', await upstreamClass()],
    ['abstract/prediction', upstreamRoutes()],
  ] as const) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'pmx.ts'), text);
  }
}

if (import.meta.main) await writeUpstream(process.argv[2] ?? 'ccxt-upstream');
