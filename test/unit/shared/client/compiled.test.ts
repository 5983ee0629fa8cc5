/** The compiled client: the files that a browser loads, and how programs and their compilers find it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { init, parse } from 'es-module-lexer';
import * as source from '../../../../shared/client/index.ts';
import { compile, compiledRoot, programDirectory } from '../../../support/compiledClient.ts';

await init;

type Graph = { readonly atOnce: ReadonlySet<string>; readonly all: ReadonlySet<string> };

/** The modules that a file loads, at once and later. */
function graphOf(entry: string): Graph {
  const all = new Set([entry]);
  const atOnce = new Set([entry]);
  for (const path of all) {
    for (const { specifier, type } of parse(readFileSync(path, 'utf8'))[0]) {
      if (type === 'import-meta') continue;
      assert.ok(specifier !== undefined, `${path} loads a module whose name is computed`);
      const target = specifier.startsWith('.')
        ? resolve(dirname(path), specifier)
        : fileURLToPath(import.meta.resolve(specifier));
      assert.ok(existsSync(target), `${path} loads ${specifier}`);
      all.add(target);
      if (type !== 'dynamic' && atOnce.has(path)) atOnce.add(target);
    }
  }
  return { atOnce, all };
}

test('the browser entry and all that it ever loads are free of modules of Node', () => {
  const { all } = graphOf(join(compiledRoot(), 'client/index.js'));
  assert.ok(all.size > 40);
  for (const path of all) {
    const text = readFileSync(path, 'utf8');
    assert.ok(!text.includes('node:'), path);
    for (const { specifier } of parse(text)[0]) assert.ok(!builtinModules.includes(specifier ?? ''), path);
  }
});

test('a page that reads books loads neither what signs with private keys nor the administrator', () => {
  const { atOnce } = graphOf(join(compiledRoot(), 'client/stream/exchangeStream.js'));
  const names = [...atOnce].map((path) => path.replace(`${compiledRoot()}/`, ''));
  const heavy = names.filter((name) => /noble|admin|orderSigner|privateKey|eip712|keccak/.test(name));
  assert.deepEqual(heavy, []);
  const bytes = [...atOnce].reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
  assert.ok(bytes < 31_000, `${bytes} bytes`);
});

test('a client of requests loads streams and signers when they are needed, not before', () => {
  const { atOnce, all } = graphOf(join(compiledRoot(), 'client/client.js'));
  const later = /stream\/exchangeStream|orderSigner|accountSigner|privateKey|secp256k1/;
  assert.deepEqual(
    [...atOnce].filter((path) => later.test(path)),
    [],
  );
  assert.equal([...all].filter((path) => /exchangeStream|orderSigner\.js|accountSigner/.test(path)).length, 3);
});

test('Node finds the compiled client, which exports what the sources do and leaves nothing running', () => {
  const program = `
    const before = Reflect.ownKeys(globalThis).length;
    const client = await import('pmx-client');
    console.log(JSON.stringify([Object.keys(client).sort(), Reflect.ownKeys(globalThis).length - before]));`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: programDirectory(),
    encoding: 'utf8',
  });
  assert.deepEqual(JSON.parse(printed), [Object.keys(source).sort(), 0]);
});

/** Compiles only if the parts fit: amounts are texts or bigint, and answers have the members of the document. */
const PROGRAM = `
import { type Balances, ExchangeClient, type FinalOrder, parsePrice } from 'pmx-client';
const client = new ExchangeClient({ baseUrl: 'http://exchange' });
const balances: Promise<Balances> = client.balances();
const ticks: bigint = parsePrice('0.5', 100);
console.log(balances, ticks, trade);
async function trade(marketId: string): Promise<FinalOrder['status']> {
  const order = await client.place({ marketId, outcomeIndex: 0, side: 'BUY', price: '0.5', size: '1' });
  return (await order.done).status;
}
// @ts-expect-error a price is a text
void client.place({ marketId: 'm', outcomeIndex: 0, side: 'BUY', price: 0.5, size: '1' });
// @ts-expect-error the administrator's routes are not the client's
void client.pause();
`;

test('a strict program compiles against the declarations, for Node and for browsers', () => {
  const directory = programDirectory();
  writeFileSync(join(directory, 'program.ts'), PROGRAM);
  const common = ['--noEmit', '--strict', '--target', 'ES2023', '--skipLibCheck', 'false', 'program.ts'];
  compile(directory, ...common, '--module', 'NodeNext', '--types', 'node');
  const browser = ['--module', 'ESNext', '--moduleResolution', 'bundler'];
  compile(directory, ...common, ...browser, '--lib', 'ES2023,DOM,DOM.Iterable,DOM.AsyncIterable', '--types', '');
});
