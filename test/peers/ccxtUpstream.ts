/**
 * The class of CCXT as one file, as CCXT's repository has a class of a prediction venue: `ts/src/prediction/pmx.ts`.
 * The parts are one class there, and what they import has its places there. Its routes are the file that CCXT's own
 * build writes, `abstract/prediction/pmx.ts`; this makes that one as well.
 *
 *     node shared/run.mjs test/peers/ccxtUpstream.ts FOLDER
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = new URL('../../shared/client/ccxt/', import.meta.url);
/** Below the class first: each part extends the one before. */
const PARTS = ['errors', 'describe', 'requests', 'markets', 'quotes', 'account', 'trading', 'pmx'] as const;
const CLASS = /^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:default |abstract )*class \w+ extends \w+ \{\n/m;
const TYPES = ['Balances', 'Dict', 'Int', 'Num', 'OrderSide', 'OrderType', 'Str', 'Strings'] as const;

function upstreamClass(): string {
  const parts = PARTS.map((name) => partOf(readFileSync(new URL(`${name}.ts`, SOURCES), 'utf8')));
  const lines = [
    ...importsOf(parts.map(({ head, body }) => head + body).join('\n')),
    '// biome-ignore lint/suspicious/noExplicitAny: a structure as the base class returns it',
    'type Unified = any;',
    ...parts.map(({ head }) => head),
    'export default class pmx extends Exchange {',
    ...parts.map(({ body }) => body),
    '}',
  ];
  return `${lines.filter((text) => text.trim() !== '').join('\n')}\n`;
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

function partOf(source: string): { readonly head: string; readonly body: string } {
  const text = withoutImports(source).replaceAll(/^export (?=const|type|function)/gm, '');
  const opening = CLASS.exec(text);
  if (opening === null) return { head: text, body: '' };
  const start = opening.index + opening[0].length;
  const end = text.indexOf('\n}\n', start);
  const head = text.slice(0, opening.index) + (opening[1] ?? '') + text.slice(end + '\n}\n'.length);
  // In one class a method that a later part has is just there.
  return { head, body: text.slice(start, end).replaceAll(/^ +protected abstract .*;$/gm, '') };
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
    `import { ${list(errors)} } from '../base/errors.js';`,
    `import type { ${list(TYPES)} } from '../base/types.js';`,
  ];
}

/** Writes both files below a folder that stands for `ts/src`. */
export function writeUpstream(folder: string): void {
  for (const [path, text] of [
    ['prediction', upstreamClass()],
    ['abstract/prediction', upstreamRoutes()],
  ] as const) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, 'pmx.ts'), text);
  }
}

if (import.meta.main) writeUpstream(process.argv[2] ?? 'ccxt-upstream');
