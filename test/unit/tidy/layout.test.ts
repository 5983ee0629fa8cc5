/** The places of code: the size of files, and the arrows between files and between rooms. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { LEFT_OUT_ON_CHAIN } from '../../support/leftOutOnChain.ts';
import { LONG_FILES } from '../../support/longFiles.ts';
import { ROOMS } from './rooms.ts';
import { assertClean, assertNone, importsOf, linesLike, production, type Source, sources } from './sources.ts';

const MAX_COLUMNS = 120;
const MAX_SOURCE_LINES = 400;
/** What more a request has belongs to its headers, its transport, its moments or its record. */
const MAX_CALL_FIELDS = 30;
/** These keep counts in memory, no table of control.db. */
const NO_STORES = ['counterStore', 'redisCounterStore'].map((name) => `gateway/access/${name}.ts`);

test('no line is wider than 120 columns', () => {
  const wide = new RegExp(`.{${MAX_COLUMNS + 1}}`);
  assertClean(sources, (source) => linesLike(source, wide));
});

test('no source file outgrows one idea', () => {
  assertClean(production, ({ lines }) => (lines.length > MAX_SOURCE_LINES ? [`${lines.length} lines`] : []));
});

test('a call has at most thirty fields', () => {
  const text = production.find(({ path }) => path === 'gateway/http/call.ts')?.text ?? '';
  const body = /^export class Call \{$.*?^\}$/ms.exec(text)?.[0] ?? '';
  const fields = body.match(/^ {2}(?:readonly )?#?\w+(?=:| =)/gm) ?? [];
  assert.ok(fields.length > 0 && fields.length <= MAX_CALL_FIELDS, `${fields.length} fields`);
});

test('rooms import only the rooms that the table lists for them, and all of those', () => {
  const listed = ROOMS.flatMap(({ room, own, shared = '' }) => [
    ...split(own).map((name) => `${room} → ${wingOf(room)}/${name}`),
    ...split(shared).map((name) => `${room} → shared/${name}`),
  ]);
  const found = new Set(arrows(roomOf));
  assertNone([...found].filter((arrow) => !listed.includes(arrow)).map((arrow) => `not listed: ${arrow}`));
  assertNone(listed.filter((arrow) => !found.has(arrow)).map((arrow) => `not there: ${arrow}`));
});

test('npm run polymarket talks to the exchange by the SDK alone', () => {
  const here = 'gateway/programs/polymarket/';
  // Besides, it has the tools that the SDK itself is made of.
  const allowed = [here, 'shared/client/', 'shared/base/'];
  const files = production.filter(({ path }) => path.startsWith(here));
  assertClean(files, (source) =>
    importsOf(source)
      .map(({ target }) => target)
      .filter((target) => !allowed.some((folder) => target.startsWith(folder))),
  );
});

test('a room imports only rooms that stand above it in the table', () => {
  const order = ROOMS.map(({ room }) => room);
  const isUpward = (arrow: string): boolean => {
    const [from, to] = arrow.split(' → ');
    return order.indexOf(to) < order.indexOf(from);
  };
  assertNone(arrows(roomOf).filter((arrow) => !isUpward(arrow)));
});

test('a store is imported by its own room and by wiring alone', () => {
  const isOthers = (path: string, target: string): boolean =>
    /^gateway\/.*Store\.ts$/.test(target) && ![roomOf(target), 'gateway/wiring'].includes(roomOf(path));
  assertClean(production, (source) =>
    importsOf(source)
      .map(({ target }) => target)
      .filter((target) => isOthers(source.path, target) && !NO_STORES.includes(target)),
  );
});

test('two files of one room are all of the exchange that use uWebSockets.js; the others name its types at most', () => {
  const values = /^import (?!type\b)[^;]*? from 'uWebSockets\.js';|\bimport\('uWebSockets\.js'\)/m;
  const users = production.filter(({ text }) => values.test(text)).map(({ path }) => path);
  // The last is of a program that imports nothing of the exchange.
  const known = ['gateway/http/door.ts', 'gateway/http/heldResponse.ts', 'gateway/programs/polymarket/server.ts'];
  assert.deepEqual(users.sort(), known);
});

test('no two folders import each other', () => {
  // The entry of the package exports what its room and the folders in it have, and the client opens streams.
  const isAboveFolders = (path: string): boolean => /^shared\/client\/(?:index|browser|client)\.ts$/.test(path);
  const found = new Set(arrows(dirname, ({ path }) => !isAboveFolders(path)));
  assertNone([...found].filter((arrow) => found.has(arrow.split(' → ').reverse().join(' → '))));
});

test('no files import each other in a circle', () => {
  const graph = new Map(sources.map((source) => [source.path, importsOf(source).map(({ target }) => target)]));
  assertNone(circlesIn(graph));
});

/** The arrows between groups of files, each once, written `from → to`. */
function arrows(groupOf: (path: string) => string, isCounted = (_: Source): boolean => true): string[] {
  const all = production
    .filter(isCounted)
    .flatMap((source) => importsOf(source).map(({ target }) => [groupOf(source.path), groupOf(target)]))
    .filter(([from, to]) => from !== to)
    .map(([from, to]) => `${from} → ${to}`);
  return [...new Set(all)];
}

function wingOf(path: string): string {
  return path.split('/')[0];
}

/** gateway/stream/marketFeed.ts stands in the room gateway/stream. */
function roomOf(path: string): string {
  return path.split('/').slice(0, -1).slice(0, 2).join('/');
}

function split(names: string): string[] {
  return names.split(' ').filter((name) => name !== '');
}

/** One circle, as a path, for each file at which a depth-first walk comes back to the way it went. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const isDone = new Set<string>();
  const way: string[] = [];
  const walk = (file: string): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '));
    if (isDone.has(file) || way.includes(file)) return;
    way.push(file);
    for (const next of graph.get(file) ?? []) walk(next);
    way.pop();
    isDone.add(file);
  };
  for (const file of graph.keys()) walk(file);
  return circles;
}

test('tests that a command leaves out are files that there are', () => {
  const named = [
    ...Object.keys(LONG_FILES),
    ...Object.keys(LEFT_OUT_ON_CHAIN).map((name) => `test/api/${name}.test.ts`),
  ];
  assertNone(named.filter((path) => !existsSync(new URL(`../../../${path}`, import.meta.url))));
});
