/**
 * The class of CCXT as one file, in the place that it has in CCXT's repository: compiled, it plays the suites, and
 * CCXT's own translator takes it to the other languages.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadCcxt, NO_CCXT } from '../support/ccxtPeer.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { type Json, ROOT } from '../support/server.ts';
import { foreignIn } from './ccxtDialect.ts';
import { writeUpstream } from './ccxtUpstream.ts';

const SUITES = ['ccxtLive', 'ccxtPaths', 'ccxtStatic'].map((name) => `test/peers/${name}.test.ts`);

/** `ts/src` of that repository, with the base of the installed package. */
async function makeSources(): Promise<string> {
  const folder = temporaryDirectory();
  await writeUpstream(folder);
  // The package's own noble is of the root's version; another one may stand beside it.
  symlinkSync(`${ROOT}node_modules`, join(folder, 'node_modules'));
  symlinkSync(`${ROOT}test/peers/node_modules/ccxt/js/src/base`, join(folder, 'base'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const typeRoots = [`${ROOT}node_modules/@types`];
  const emitted = { noEmit: false, allowImportingTsExtensions: false };
  const compilerOptions = {
    noImplicitOverride: false,
    noUnusedParameters: false,
    typeRoots,
    types: ['node'],
    ...emitted,
  };
  const settings = { extends: `${ROOT}tsconfig.json`, compilerOptions, include: ['prediction'], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  return folder;
}

function run(command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): void {
  // A test that runs in a test would report to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...env, ...more },
  });
  assert.equal(status, 0, `${stdout}${stderr}`);
}

test('one file has the whole class: it compiles, and the live suite and the fixtures pass with it', {
  skip: NO_CCXT,
}, async () => {
  const folder = await makeSources();
  run('npx', ['tsc', '-p', folder]);
  run(process.execPath, ['shared/run.mjs', '--test', ...SUITES], {
    CCXT_CLASS: join(folder, 'prediction/pmx.js'),
  });
});

/** A method as CCXT's build reads one: its name, what it takes and what it returns in one line. */
const SIGNATURE = /^ {4}(?:override )?(?:async )?(\w+) \([^)]*\)(?:: \S+)? \{$/;

function methodsOf(text: string): readonly string[] {
  const body = text.slice(
    text.indexOf(' extends Exchange {\n') + ' extends Exchange {\n'.length,
    text.lastIndexOf('\n}'),
  );
  return body.split(/\n\s*\n/).map((method) => {
    const code = method.replaceAll(/^ +\/\*\*[\s\S]*?\*\/\n/gm, '');
    const [first = ''] = code.split('\n');
    const [, name] = SIGNATURE.exec(first) ?? [];
    assert.ok(name !== undefined, `not the first line of a method: ${first}`);
    for (const line of code.split('\n')) {
      assert.match(line, /^(?: {4})+\S/, 'four spaces a step');
      assert.doesNotMatch(line.replaceAll(/'[^']*'/g, "''"), /\w\(|\bthis\.\w+\(/, 'a space before each bracket');
    }
    return name;
  });
}

test('the file has the layout that the build of CCXT reads, and its translator takes it to four languages', {
  skip: NO_CCXT,
}, async () => {
  const folder = temporaryDirectory();
  await writeUpstream(folder);
  const source = readFileSync(join(folder, 'prediction/pmx.ts'), 'utf8');
  const names = methodsOf(source);
  assert.ok(names.length > 100 && names[0] === 'describe', names.join());
  assert.deepEqual(await foreignIn(source), []);
  const documented = [...source.matchAll(/@name pmx#(\w+)/g)].map(([, name]) => name);
  const { pmx } = await loadCcxt();
  const claimed = Object.keys(new pmx({}).capabilities()).filter((name) => names.includes(name));
  assert.deepEqual(documented.sort(), claimed.sort());
  const name: string = 'ast-transpiler';
  const { Transpiler }: Json = await import(name);
  const translator = new Transpiler({
    python: { uncamelcaseIdentifiers: true },
    php: { uncamelcaseIdentifiers: true },
  });
  // CCXT's build has rules of its own for these two languages, where the translator has none.
  translator.pythonTranspiler.printSliceCall = (...[, , text, from, to]: string[]) => `${text}[${from}:${to ?? ''}]`;
  translator.phpTranspiler.printSliceCall = (...[, , text, from, to]: string[]) =>
    to === undefined ? `mb_substr(${text}, ${from})` : `mb_substr(${text}, ${from}, ${to} - ${from})`;
  const written: Record<string, string> = {};
  for (const language of ['Python', 'Php', 'CSharp', 'Go']) {
    written[language] = translator[`transpile${language}`](source).content;
  }
  assert.equal(written['Python']!.match(/^ {4}(?:async )?def /gm)!.length, names.length);
  assert.ok(written['Python']!.includes('def create_orders(self, orders, params={}):'));
  for (const text of Object.values(written)) assert.doesNotMatch(text, /\bundefined\b/);
  const file = join(folder, 'pmx.py');
  writeFileSync(file, written['Python']!);
  run('python3', ['-m', 'py_compile', file]);
});

test('what other languages do not have is refused, with its line', { skip: NO_CCXT }, async () => {
  const method = (line: string): string => `class pmx {\n    of (rows: any, key: any) {\n${line}\n    }\n}\n`;
  for (const line of [
    'return { ...rows };',
    'return [ ...rows ];',
    'return rows.map ((row: any) => row);',
    'const { id } = rows;',
    'const [ id ] = rows;',
    'return rows?.id;',
    'return rows ?? key;',
    'return rows!;',
    'return /a/.test (key);',
    'return rows.includes (key);',
    'if (rows) return key;',
    'for (const row of rows[key]) { key = row; }',
  ]) {
    const [found] = await foreignIn(method(line));
    assert.match(found ?? '', /^3: /, line);
  }
  assert.deepEqual(await foreignIn(method('for (const row of rows) { key = row; }')), []);
});
