/** Sources are loaded with their types removed, from the results of earlier starts or made anew. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../../support/directory.ts';

const BASE = fileURLToPath(new URL('../../../../shared/base', import.meta.url));
const FILES = ['keptSources.mjs', 'keptFiles.mjs', 'stripFolder.mjs', 'stripTypes.ts'];
/** A thread that throws in line 5 of a file with types, and a main thread that prints where. */
const MAIN = `import { isMainThread, Worker } from 'node:worker_threads';
type Where = { readonly stack?: string };
if (isMainThread) new Worker(new URL(import.meta.url)).on('error', (error: Where) => console.log(error.stack));
else {
  const where: string = 'thrown'; throw new Error(where);
}
`;

class Project {
  readonly #root = temporaryDirectory();
  readonly #kept = join(this.#root, 'node_modules/.cache', `stripped-${process.version}`);
  readonly #main = join(this.#root, 'gateway/main.ts');

  constructor() {
    for (const file of FILES) cpSync(join(BASE, file), join(this.#root, 'shared/base', file));
    for (const folder of ['gateway', 'node_modules']) mkdirSync(join(this.#root, folder));
    writeFileSync(join(this.#root, 'package.json'), '{"type":"module"}');
    writeFileSync(this.#main, MAIN);
  }

  get kept(): string[] {
    return readdirSync(this.#kept).map((name) => join(this.#kept, name));
  }

  change(text: string): void {
    writeFileSync(this.#main, text);
  }

  /** The files in which Node keeps what V8 has compiled. */
  get compiled(): string[] {
    return readdirSync(join(this.#root, 'node_modules/.cache/compiled'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
  }

  /** From now on nothing can be kept. */
  removePackages(): void {
    rmSync(join(this.#root, 'node_modules'), { recursive: true });
  }

  run(): { stdout: string; stderr: string } {
    const sources = join(this.#root, 'shared/base/keptSources.mjs');
    const args = ['--disable-warning=ExperimentalWarning', '--import', sources, this.#main];
    return spawnSync(process.execPath, args, { encoding: 'utf8' });
  }
}

const THROWN = /^Error: thrown\n.*gateway\/main\.ts:5:41\)?\n/;
const THROWN_FROM_KEPT = /^Error: thrown from what is kept\n/;

describe('a source file', () => {
  const project = new Project();

  test('is stripped once, its lines and columns stay, and every thread finds it', () => {
    assert.match(project.run().stdout, THROWN);
    const [kept, ...others] = project.kept;
    assert.deepEqual(others, []);
    assert.match(
      basename(kept),
      /^main\.[0-9a-f]{64}\.ts$/,
      'beside its source in a package, which npm orders by name',
    );
    const text = readFileSync(kept, 'utf8');
    assert.ok(!text.includes('Where') && text.includes("where         = 'thrown'"), text);
    writeFileSync(kept, text.replaceAll("'thrown'", "'thrown from what is kept'"));
    assert.match(project.run().stdout, THROWN_FROM_KEPT);
  });

  test('is compiled once, and again if the kept result is damaged', () => {
    const compiled = project.compiled;
    assert.ok(compiled.length > 0);
    assert.match(project.run().stdout, THROWN_FROM_KEPT);
    assert.deepEqual(project.compiled.sort(), compiled.sort());
    for (const file of compiled) writeFileSync(file, readFileSync(file).fill(7, 100));
    assert.match(project.run().stdout, THROWN_FROM_KEPT);
  });

  test('that imports a missing one names it', () => {
    project.change("import './missing.ts';\n");
    assert.match(project.run().stderr, /ERR_MODULE_NOT_FOUND[\s\S]*missing\.ts|missing\.ts[\s\S]*ERR_MODULE_NOT_FOUND/);
    project.change(MAIN);
  });

  test('is stripped again if the kept result is cut', () => {
    truncateSync(project.kept[0], 50);
    assert.match(project.run().stdout, THROWN);
  });

  test('is stripped again when it has changed', () => {
    const before = project.kept.length;
    project.change(MAIN.replace("'thrown'", "'changed'"));
    assert.match(project.run().stdout, /^Error: changed\n/);
    assert.equal(project.kept.length, before + 1);
  });

  test('that cannot be stripped is left to Node, which says where it is wrong', () => {
    project.change('const a: = 1;\n');
    assert.match(project.run().stderr, /main\.ts:1\n[\s\S]*ERR_INVALID_TYPESCRIPT_SYNTAX/);
  });

  test('is stripped in each thread where nothing can be kept', () => {
    project.change(MAIN);
    project.removePackages();
    assert.match(project.run().stdout, THROWN);
  });
});
