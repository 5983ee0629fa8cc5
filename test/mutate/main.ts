/**
 * `npm run mutate -- --seed 7 --count 100`: puts seeded random mutants, one at a time, into a copy of the project, and
 * names those that no test noticed. A mutant is a slip of one token or one statement (places.ts); the tests that are
 * most likely to notice it run first (testsOf.ts), and the first that fails has caught it.
 *
 *     --under gateway,shared/client    only in these folders or files
 *     --report mutants.jsonl           a line for each mutant; those that are in it are not run again
 *     --minutes 30                     stops after the mutant that is being run then
 *     --coverage DIRECTORY             keeps what the tests execute from one run to the next
 *     --quick                          asks no test over server processes
 *     --again mutants.jsonl            instead: runs the survivors of this report again, as far as they are still there
 *
 * A mutant that the compiler refuses is not counted, and another is drawn. A test that fails without the mutant as well
 * is left out, and so is one that never executes the place of the mutant (coverage.ts). Ends with 1 when a mutant
 * survived.
 */
import { appendFileSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Failure, ProjectCopy } from '../support/projectCopy.ts';
import { Random } from '../support/random.ts';
import { Compiler } from './compiler.ts';
import { Coverage } from './coverage.ts';
import type { Place } from './places.ts';
import { OVER_PROCESSES, TestMap } from './testsOf.ts';

type Mutant = {
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  /** The line as it is, and as it is with the mutant. */
  readonly before: string;
  readonly after: string;
};

type Result = Mutant & {
  readonly number: number;
  readonly result: 'caught' | 'timed out' | 'survived';
  /** The test that noticed it, and its words; of a survivor, the tests that did not. */
  readonly by: string;
  readonly message?: string;
};

const MINUTE_MS = 60_000;
/**
 * A mutant may make a test wait for ever: so a test gets this time, and several times the time that it needs without a
 * mutant. A test that takes all memory is ended as well (support/projectCopy.ts).
 */
const LEAST_LIMIT_MS = 20_000;
const PATIENCE = 8;
/** A machine that is busy now may have been idle when a test was timed. */
const MOST_LIMIT_MS = 300_000;
/** No priority that a thread of the exchange gives itself (shared/base/background.ts): a test compares those. */
const NICE = 9;
/** Entry points of the command line, which print: nothing but prose and exit codes. */
const LEFT_OUT = /\/cli\/|^shared\/base\/stripTypes\.ts$/;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '20' },
    under: { type: 'string', default: 'engine,gateway,shared' },
    report: { type: 'string', default: 'mutants.jsonl' },
    minutes: { type: 'string', default: '600' },
    again: { type: 'string' },
    coverage: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});

setPriority(NICE);
// Ends the running test and removes the copy.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const copy = new ProjectCopy();
const compiler = new Compiler(copy.root);
const tests = new TestMap(copy.root);
const coverage = new Coverage(copy, values.coverage ?? null);
const endMs = performance.now() + Number(values.minutes) * MINUTE_MS;
const results = values.again === undefined ? await runDrawn() : await runAgain(values.again);
compiler.close();
summarize(results);
process.exitCode = results.some(({ result }) => result === 'survived') ? 1 : 0;

async function runDrawn(): Promise<Result[]> {
  const done = new Map(readReport(values.report).map((result) => [result.number, result]));
  const draw = drawer(Number(values.seed));
  const found: Result[] = [];
  for (let number = 1; number <= Number(values.count); number++) {
    const drawn = draw();
    if (drawn === null) break;
    const [place, file] = drawn;
    const known = done.get(number);
    if (known !== undefined) {
      found.push(known);
      continue;
    }
    if (performance.now() > endMs) break;
    found.push(note(await run(number, file, place), values.report));
  }
  return found;
}

async function runAgain(report: string): Promise<Result[]> {
  const found: Result[] = [];
  for (const old of readReport(report).filter(({ result }) => result === 'survived')) {
    const text = copy.read(old.file);
    const place = compiler.placesIn(old.file).find((each) => {
      const { operator, before, after } = describe(old.file, text, each);
      return operator === old.operator && before === old.before && after === old.after;
    });
    if (place === undefined) console.log(`gone       ${old.file}:${old.line}  ${old.before}`);
    else found.push(note(await run(old.number, old.file, place), null));
  }
  return found;
}

/** Draws a file, an operator that has places in it, and one of these, none twice and none that does not compile. */
function drawer(seed: number): () => readonly [Place, string] | null {
  const random = new Random(seed);
  const prefixes = values.under.split(',');
  const files = globSync('{engine,gateway,shared}/**/*.ts', { cwd: copy.root })
    .filter((file) => !LEFT_OUT.test(file) && prefixes.some((prefix) => file.startsWith(prefix)))
    .sort();
  const left = new Map(files.map((file) => [file, compiler.placesIn(file)]));
  return () => {
    for (;;) {
      const candidates = [...left].filter(([, places]) => places.length > 0);
      if (candidates.length === 0) return null;
      const [file, places] = random.pick(candidates);
      const operator = random.pick([...new Set(places.map((place) => place.operator))].sort());
      const place = random.pick(places.filter((each) => each.operator === operator));
      left.set(
        file,
        places.filter((each) => each !== place),
      );
      if (compiles(file, place)) return [place, file];
    }
  };
}

function compiles(file: string, place: Place): boolean {
  const text = copy.read(file);
  const path = join(copy.root, file);
  writeFileSync(path, withPlace(text, place));
  try {
    return compiler.complaintAbout(file) === null;
  } finally {
    writeFileSync(path, text);
  }
}

async function run(number: number, file: string, place: Place): Promise<Result> {
  const text = copy.read(file);
  const mutant = { number, ...describe(file, text, place) };
  const passed: string[] = [];
  for (const test of tests.testsOf(file)) {
    if (values.quick && OVER_PROCESSES.test(test)) continue;
    const { passes, durationMs } = await coverage.of(test);
    if (!passes || !(await coverage.executes(test, file, place.start))) continue;
    const limitMs = Math.min(LEAST_LIMIT_MS + PATIENCE * durationMs, MOST_LIMIT_MS);
    const failure = await copy.with(file, withPlace(text, place), () => copy.failureOf(test, limitMs));
    if (failure !== null && (await isBlamed(test, failure, limitMs))) {
      const result = failure.hasNoEnd ? 'timed out' : 'caught';
      return { ...mutant, result, by: test, message: failure.message };
    }
    if (failure === null) passed.push(test);
  }
  return { ...mutant, result: 'survived', by: passed.join(' ') };
}

/** A test over a process, or at its limit, may fail on a loaded machine now and not before: it is asked each time. */
async function isBlamed(test: string, { hasNoEnd }: Failure, limitMs: number): Promise<boolean> {
  if (test.startsWith('test/unit/') && !hasNoEnd) return true;
  const failure = await copy.failureOf(test, limitMs);
  if (failure !== null) console.log(`fails also without it: ${test}: ${failure.message}`);
  return failure === null;
}

function withPlace(text: string, { start, end, replacement }: Place): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** Several lines become one. */
function describe(file: string, text: string, place: Place): Mutant {
  const { start, end, operator } = place;
  const from = text.lastIndexOf('\n', start) + 1;
  const to = text.indexOf('\n', end);
  const change = end - start - place.replacement.length;
  const oneLine = (lines: string): string => lines.replace(/\s+/g, ' ').trim();
  const before = oneLine(text.slice(from, to));
  const after = oneLine(withPlace(text, place).slice(from, to - change));
  return { file, line: text.slice(0, start).split('\n').length, operator, before, after };
}

function note(result: Result, report: string | null): Result {
  const { number, file, line, operator, before, after, by, message } = result;
  console.log(`${result.result.padEnd(10)} ${String(number).padStart(4)}  ${file}:${line}  ${operator}`);
  console.log(`                 ${before}\n              => ${after}`);
  console.log(
    `                 ${result.result === 'survived' ? `passed: ${by || 'none executes it'}` : `${by}: ${message}`}`,
  );
  if (report !== null) appendFileSync(report, `${JSON.stringify(result)}\n`);
  return result;
}

function readReport(path: string): Result[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Result);
}

function summarize(found: readonly Result[]): void {
  const survivors = found.filter(({ result }) => result === 'survived');
  const timeouts = found.filter(({ result }) => result === 'timed out').length;
  const caught = found.length - survivors.length;
  const percent = found.length === 0 ? 100 : (100 * caught) / found.length;
  console.log(`\n${caught} of ${found.length} caught (${percent.toFixed(1)} %), ${timeouts} of them by a time limit`);
  for (const { file, line, before, after } of survivors) console.log(`  ${file}:${line}\n    ${before}\n    ${after}`);
}
