/** The habits of this project, where a machine can check them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SELF = 'test/unit/tidy.test.ts';
const MAX_COLUMNS = 120;
const MAX_SOURCE_LINES = 600;

type Source = { path: string; text: string; lines: string[] };

const sources: Source[] = tracked()
  .filter((path) => path.endsWith('.ts') && path !== SELF)
  .map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, lines: text.split('\n') };
  });

/** Files git knows or would add; a source without git around it (a packed copy) has nothing to check here. */
function tracked(): string[] {
  if (!existsSync(join(ROOT, '.git'))) return [];
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  return listed.split('\n').filter((path) => path !== '' && existsSync(join(ROOT, path)));
}

function offenders(check: (source: Source) => string | false | undefined): string[] {
  return sources.flatMap((source) => {
    const complaint = check(source);
    return complaint ? [`${source.path}: ${complaint}`] : [];
  });
}

function firstLine(source: Source, pattern: RegExp): string | undefined {
  const index = source.lines.findIndex((line) => pattern.test(line));
  return index < 0 ? undefined : `line ${index + 1}: ${source.lines[index]!.trim()}`;
}

test('no line is wider than 120 columns', () => {
  assert.deepEqual(
    offenders((source) => {
      const index = source.lines.findIndex((line) => line.length > MAX_COLUMNS);
      return index >= 0 && `line ${index + 1}`;
    }),
    [],
  );
});

test('no source file outgrows one idea', () => {
  const isSource = (path: string) => !path.startsWith('test/');
  assert.deepEqual(
    offenders(({ path, lines }) => isSource(path) && lines.length > MAX_SOURCE_LINES && `${lines.length} lines`),
    [],
  );
});

test('imports run gateway → shared ← engine, and nothing imports bench or test', () => {
  const allowed: Record<string, readonly string[]> = {
    shared: ['shared'],
    engine: ['engine', 'shared'],
    gateway: ['gateway', 'shared'],
  };
  assert.deepEqual(
    offenders(({ path, text }) => {
      const rooms = allowed[path.split('/')[0]!];
      if (rooms === undefined) return;
      for (const [, target] of text.matchAll(/from '(\.[^']+)'/g)) {
        const room = relative(ROOT, join(ROOT, dirname(path), target!)).split('/')[0]!;
        if (!rooms.includes(room)) return `imports ${target}`;
      }
    }),
    [],
  );
});

test('money and matching know no floats', () => {
  const floats = /\bparseFloat\b|\.toFixed\(|Math\.(round|sqrt|pow)\b|\d\.\d+[^.\d]/;
  const exact = (path: string) => /^engine\/[a-zA-Z]+\.ts$/.test(path) || path === 'shared/int.ts';
  assert.deepEqual(
    offenders((source) => {
      if (!exact(source.path)) return;
      const index = source.lines.findIndex(
        (line) => !/^\s*(\*|\/)/.test(line) && floats.test(line.replace(/'[^']*'/g, '')),
      );
      return index >= 0 && `line ${index + 1}`;
    }),
    [],
  );
});

test('the engine reads no clock, no randomness and no environment', () => {
  // The thread measures how long a commit takes: that ends batches, and decides nothing that happens in one.
  const isThread = (path: string): boolean => path === 'engine/shard.ts';
  const outside = /\bDate\b|Math\.random|process\.env|performance\.now|setTimeout/;
  assert.deepEqual(
    offenders(
      (source) =>
        source.path.startsWith('engine/') &&
        !/^engine\/(projector|admin)\//.test(source.path) &&
        firstLine(source, isThread(source.path) ? /\bDate\b|Math\.random|process\.env|setTimeout/ : outside),
    ),
    [],
  );
});

test('nothing is left behind', () => {
  const left = /\b(TODO|FIXME|XXX)\b|\.only\(|@ts-ignore|@ts-nocheck|\bas any\b|console\.debug/;
  assert.deepEqual(
    offenders((source) => firstLine(source, left)),
    [],
  );
});

test('the project stands alone', () => {
  const foreign = new RegExp(
    ['\\.\\./shared/(spec|research)', 'DESIGN\\.md', 'STYLE\\.md', 'decisions\\.md', 'interface\\.md'].join('|'),
  );
  assert.deepEqual(
    offenders((source) => firstLine(source, foreign)),
    [],
  );
});

test('only erasable TypeScript is used', () => {
  const erased = /^\s*(export )?(const )?enum |^\s*(export )?namespace |constructor\([^)]*(private|public|readonly) /;
  assert.deepEqual(
    offenders((source) => firstLine(source, erased)),
    [],
  );
});
