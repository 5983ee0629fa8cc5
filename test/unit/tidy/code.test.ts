/** The habits of code: exact numbers, no clock where state is replayed, erasable types, nothing left over. */
import { test } from 'node:test';
import { assertClean, assertNone, documents, importsOf, linesLike, sources } from './sources.ts';

const MAX_FUNCTION_LINES = 70;

/** The engine's files around its computation: they wait and measure. */
const THREAD_FILES = ['shard/main.ts', 'shard/turns.ts', 'verify/spotMain.ts'].map((file) => `engine/${file}`);

test('money and matching know no floats', () => {
  const floats = /\bparseFloat\b|\.toFixed\(|Math\.(round|sqrt|pow)\b|\d\.\d+[^.\d]/;
  const exact = (path: string) =>
    /^engine\/(core|book|money)\/[a-zA-Z]+\.ts$/.test(path) || path === 'shared/base/int.ts';
  const code = /^(?!\s*(?:\*|\/)).*/;
  assertClean(
    sources.filter(({ path }) => exact(path)),
    ({ lines }) => lines.filter((line) => code.test(line) && floats.test(line.replace(/'[^']*'/g, ''))),
  );
});

test('the engine reads no clock, no randomness and no environment', () => {
  // A shard measures how long a commit takes: that ends batches, and decides nothing that happens in one. The spot
  // checker measures its own work, to pause for longer.
  const isThread = (path: string): boolean => THREAD_FILES.includes(path);
  const outside = /\bDate\b|Math\.random|process\.env|performance\.now|setTimeout/;
  const isReplayed = (path: string): boolean =>
    path.startsWith('engine/') &&
    !/^engine\/((projector|admin|backup|settlement|replication)\/|history\/main|shard\/inbox)/.test(path);
  assertClean(
    sources.filter(({ path }) => isReplayed(path)),
    (source) => linesLike(source, isThread(source.path) ? /\bDate\b|Math\.random|process\.env|setTimeout/ : outside),
  );
});

test('nothing is left behind', () => {
  const left = /\b(TODO|FIXME|XXX)\b|\.only\(|@ts-ignore|@ts-nocheck|\bas any\b|console\.debug/;
  assertClean(sources, (source) => linesLike(source, left));
});

test('the exchange writes its output through its log alone, which no reader can hold up', () => {
  // The first are programs of their own; the others open the output, and ask whether it is a terminal.
  const programs = [
    'gateway/health.ts',
    'gateway/programs/polymarket/main.ts',
    'gateway/programs/ramp/main.ts',
    'gateway/programs/replay/main.ts',
    'engine/admin/main.ts',
  ];
  const openers = ['gateway/base/log.ts', 'gateway/main.ts'];
  const output = /\bconsole\.\w+\(|\bprocess\.(?:stdout|stderr)\.write\b|\bwriteSync\([12]\b/;
  const any = /\bconsole\b|\bprocess\.(?:stdout|stderr)\b|\bwriteSync\([12]\b/;
  assertClean(
    sources.filter(({ path }) => /^(?:gateway|engine)\/(?!web\/browser\/)/.test(path) && !programs.includes(path)),
    (source) => linesLike(source, openers.includes(source.path) ? output : any),
  );
});

test('what an index or a key reads is not asserted: its type is that of the elements', () => {
  // With `noUncheckedIndexedAccess` off the sign would mean nothing, or hide that elements may be missing or null.
  const outsideTests = sources.filter(({ path }) => !path.startsWith('test/'));
  assertClean(outsideTests, (source) => linesLike(source, /^(?!\s*(?:\*|\/\/)).*\]!(?!=)/));
});

/** Casts of each wing outside tests. The numbers only ever fall: a better type, or a reader that checks, needs none. */
const MOST_CASTS: Readonly<Record<string, number>> = { engine: 27, gateway: 71, shared: 77 };

test('no wing has more casts than when they were counted last', () => {
  const cast = /\)? as (?!const\b)[A-Za-z{([]/g;
  const above = Object.entries(MOST_CASTS).flatMap(([wing, most]) => {
    const code = sources
      .filter(({ path }) => path.startsWith(`${wing}/`) && path.endsWith('.ts'))
      .map(({ text }) =>
        text
          .replace(/\/\*[\s\S]*?\*\//g, '')
          .replace(/^\s*\/\/.*$/gm, '')
          .replace(/^(?:import|export) (?:type )?(?:\{[^}]*\}|\* as \w+|\*) from.*$/gm, '')
          .replace(/'[^'\n]*'|`[^`]*`|"[^"\n]*"/g, ''),
      );
    const { length } = code.flatMap((text) => text.match(cast) ?? []);
    return length > most ? [`${wing}: ${length} casts, ${most} at most`] : [];
  });
  assertNone(above);
});

test('the project stands alone', () => {
  const foreign = /\.\.\/shared\/(spec|research)|DESIGN\.md|house\.md|STYLE\.md|decisions\.md|interface\.md/;
  assertClean([...sources, ...documents], (source) => linesLike(source, foreign));
});

test('only erasable TypeScript is used', () => {
  const erased = /^\s*(export )?(const )?enum |^\s*(export )?namespace |constructor\([^)]*(private|public|readonly) /;
  assertClean(sources, (source) => linesLike(source, erased));
});

test('no test fills more than a screen', () => {
  // Biome counts the lines of functions, but not in test files, where it would count a whole `describe`.
  assertClean(sources, ({ path, lines }) => {
    if (!path.endsWith('.test.ts')) return [];
    return lines.flatMap((line, index) => {
      const [, indent] =
        /^( *)(?:(?:it|test|before|after|beforeEach|afterEach)\(|(?:async )?function ).*\{$/.exec(line) ?? [];
      if (indent === undefined) return [];
      const length = lines.slice(index + 1).findIndex((end) => end.startsWith(`${indent}}`));
      return length > MAX_FUNCTION_LINES ? [`line ${index + 1}: ${length} lines`] : [];
    });
  });
});

test('what no other file imports is not exported', () => {
  // Users of the package import the first, bench/main.ts the second by the name of the bench, Node the third, the
  // fourth is compiled to exports of WebAssembly, and the last are compiled in place of another file.
  const isEntry = (path: string): boolean =>
    path === 'shared/client/index.ts' ||
    path.endsWith('.bench.ts') ||
    path === 'shared/base/stripTypes.ts' ||
    path.endsWith('/wasm/kernel.as') ||
    path.endsWith('Fused.as');
  const uses = sources.flatMap((source) => importsOf(source).map((imported) => ({ ...imported, by: source.text })));
  const isUsed = (path: string, name: string): boolean =>
    uses.some(({ target, names, space, by }) => {
      if (target !== path) return false;
      if (space !== undefined) return new RegExp(`\\b${name}\\b`).test(by);
      return names === null || names.includes(name);
    });
  const exported = /^export\s+(?:async\s+|abstract\s+)?(?:const|let|function\*?|class|type)\s+(\w+)/gm;
  const unused = sources
    .filter(({ path }) => !isEntry(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(exported)].filter(([, name]) => !isUsed(path, name)).map(([, name]) => `${path}: ${name}`),
    );
  assertNone(unused);
});
