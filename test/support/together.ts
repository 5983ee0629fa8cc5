/**
 * Which test files share a process in the suite. Starting a process and loading what its file imports takes longer than
 * most unit tests, and starting a server takes longer than most API tests. Each group is an entry in test/together/;
 * every file can be run alone as well, and then it has all that it needs for itself.
 *
 * Unit tests share a process unless they change something that a process has only once. Files that use `sharedServer`
 * share a server too. They run one after the other, so a file may stop that server, and the next one finds it running;
 * none may expect it to be empty. Other files with servers run one after the other as well: what they start in their
 * `fileScope` (fileScope.ts) ends with them, and they share what this process has compiled, the document that answers
 * are checked against above all. The tests of the pages share a server and one browser, those of
 * contracts a chain. A process each is enough for the tests of clusters that only the soak runs, and for the small
 * tests of code, documents and tools.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isOnChain } from './backend.ts';
import { endOfFile } from './fileScope.ts';
import { LEFT_OUT_ON_CHAIN } from './leftOutOnChain.ts';
import { LONG_FILES, LONGEST } from './longFiles.ts';
import { endFile, isCounting } from './processorTime.ts';
import { Random } from './random.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** On a chain a process waits for blocks most of the time. */
const API_GROUPS = isOnChain ? 4 : 2;
const OWN_GROUPS = 6;
/** One group for each of these folders ran for more than a file may, beside five others on two slow processors. */
const UNIT_GROUPS = 3;
const CHAIN_GROUPS = 2;
const LONG_BROWSER_GROUPS = 2;
/** The reason that a test has for being skipped in the suite: a process of its own would do nothing else. */
const ONLY_IN_SOAK = /'only with SOAK=on: /;
/** Parts of paths separated by spaces: only files whose path has one of them run. */
const NAMES_SETTING = 'TEST_NAMES';
const NAMES = (process.env[NAMES_SETTING] ?? '').split(' ');
/** `ORDER_SEED=7 npm test -- api/` deals the files out, and runs them, in an order that the seed draws. */
const ORDER_SEED = process.env['ORDER_SEED'];
const USES_SHARED_SERVER = /\bawait sharedServer\(\)/;
/** Bitflips take too long to delay others. Files of chain change how their chain makes blocks, or follow it. */
const ALONE = new Set([
  'test/chain/clusterThread.test.ts',
  'test/chain/local.test.ts',
  'test/chain/payments.test.ts',
  'test/chain/rail.test.ts',
  'test/fault/bitflips.test.ts',
]);

/** By the name of the entry. The longest groups begin first, so that none of them is left alone at the end. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  ...dealtOut('own', OWN_GROUPS, serverFiles(false)),
  ...dealtOut('api', API_GROUPS, serverFiles(true)),
  ...dealtOut('engine', UNIT_GROUPS, filesIn('test/unit/engine/**/*.test.ts').filter(isShort)),
  ...dealtOut('gateway', UNIT_GROUPS, filesIn('test/unit/gateway/**/*.test.ts').filter(isShort)),
  ...dealtOut('chain', CHAIN_GROUPS, contractFiles()),
  browser: filesIn('test/browser/*.test.ts').filter(isShort),
  ...dealtOut('longBrowser', LONG_BROWSER_GROUPS, filesIn('test/browser/*.test.ts').filter(isLong)),
  shared: filesIn('test/unit/{bench,book,shared}/**/*.test.ts').filter(isShort),
  small: filesIn('test/unit/*.test.ts', 'test/{contracts,unit/{docs,guides,tidy}}/*.test.ts').filter(isShort),
  soakOnly: filesIn('test/cluster/*.test.ts').filter((file) => isShort(file) && ONLY_IN_SOAK.test(sourceOf(file))),
};

function filesIn(...patterns: string[]): string[] {
  const files = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules'] }).sort();
  const named = files.filter((file) => NAMES.some((name) => file.includes(name)));
  return ORDER_SEED === undefined ? named : new Random(Number(ORDER_SEED)).shuffled(named);
}

function sourceOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The test files with a server: those that share it, or the others. */
function serverFiles(isShared: boolean): string[] {
  const files = isOnChain ? filesOnChain() : filesIn('test/{api,fault,fuzz,hostile}/*.test.ts');
  return files.filter(
    (file) => !ALONE.has(file) && isShort(file) && USES_SHARED_SERVER.test(sourceOf(file)) === isShared,
  );
}

/** The tests of contracts: the chain forgets everything that they leave before the next one. */
function contractFiles(): string[] {
  return filesIn('test/chain/*.test.ts').filter((file) => isShort(file) && !ALONE.has(file));
}

/** Groups of these names: the files are dealt out in turn, so that the groups take about as long as each other. */
function dealtOut(name: string, groups: number, files: readonly string[]): Record<string, readonly string[]> {
  const numbers = Array.from({ length: groups }, (_, group) => group);
  return Object.fromEntries(
    numbers.map((group) => [`${name}${group + 1}`, files.filter((_, index) => index % groups === group)]),
  );
}

/** The files about trading, which is the same with and without a chain. */
function filesOnChain(): string[] {
  return filesIn('test/api/*.test.ts').filter((file) => !(basename(file, '.test.ts') in LEFT_OUT_ON_CHAIN));
}

/** The files of the suite: entries of groups, which take long and begin first, and files that are alone. */
export function suiteFiles(): string[] {
  return filesOf(false);
}

/** The files of `npm run test:long` (longFiles.ts). */
export function longSuiteFiles(): string[] {
  return filesOf(true);
}

/** Files of the suite or of the long tests that start servers, or may, most of them several. */
export function filesOverProcesses(areLong: boolean): string[] {
  const files = filesIn('test/{api,browser,chain,cluster,fault,fuzz,hostile}/*.test.ts');
  return files.filter((file) => isLong(file) === areLong);
}

function isLong(file: string): boolean {
  return file in LONG_FILES;
}

/** A group runs as a whole, so a long file in one of the suite would run it in both, and hold up its process. */
function isShort(file: string): boolean {
  return !isLong(file);
}

function filesOf(areLong: boolean): string[] {
  const grouped = new Set(Object.values(GROUPS).flat());
  const alone = filesIn('test/**/*.test.ts').filter((file) => !grouped.has(file) && isLong(file) === areLong);
  const groups = Object.keys(GROUPS).filter((name) => GROUPS[name]!.some((file) => isLong(file) === areLong));
  const first = LONGEST.filter((file) => alone.includes(file));
  return [...first, ...groups.map(entryOf), ...alone.filter((file) => !first.includes(file))];
}

function entryOf(group: string): string {
  return `test/together/${group}.ts`;
}

/** The clients of Polymarket trade with the money of an account. */
const OWN_MONEY = 'test/peers/ownMoney.test.ts';

/** The files of `npm run test:chain`. */
export function chainSuiteFiles(): string[] {
  const groups = Object.keys(GROUPS).filter((name) => name.startsWith('api'));
  const grouped = new Set(groups.flatMap((name) => GROUPS[name]!));
  const alone = filesOnChain().filter((file) => !grouped.has(file));
  return [...groups.map(entryOf), ...alone, OWN_MONEY];
}

/** All files are loaded before the first test runs, so that none is loaded while a test has replaced the timers. */
export async function runTogether(group: string): Promise<void> {
  let begin: () => void = () => {};
  const areLoaded = new Promise<void>((resolve) => {
    begin = resolve;
  });
  // It is not awaited: the files are loaded while it runs.
  void test(`the files of ${group} load in one process`, () => areLoaded);
  for (const file of GROUPS[group]!) {
    await import(pathToFileURL(join(ROOT, file)).href);
    if (isCounting) void test(`the processor time of ${file} is counted`, () => endFile(file));
  }
  endFile(`loading ${group}`);
  begin();
}

/**
 * A file is loaded when the tests of the one before have ended. Until then the last test of that one stays underway:
 * the runner would take a moment without tests for the end of all files, and call what cleans up behind them.
 */
export async function runOneAfterTheOther(group: string): Promise<void> {
  let end: () => void = () => {};
  for (const file of GROUPS[group]!) {
    await import(pathToFileURL(join(ROOT, file)).href).catch((error: unknown) => {
      void test(`${file} is loaded`, () => Promise.reject(error));
    });
    end();
    end = await new Promise<() => void>((resolve) => {
      void test(`the tests of ${file} have ended`, () => new Promise<void>((release) => resolve(release)));
    });
    await endOfFile();
    endFile(file);
  }
  endWithoutCleaningUp();
  end();
}

/**
 * A process with nothing left to do ends here. Node would free its environment first, and was seen looping there for
 * ever, waiting for a request that its loop no longer had. A process that still has something to do is noticed as
 * before.
 */
function endWithoutCleaningUp(): void {
  process.on('exit', () => process.exit());
}
