/**
 * This counts which places each test executes. V8 counts them in one run of the test without a mutant, in all its
 * threads. Of tests over server processes it is not known: a process that is killed leaves no count.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { temporaryDirectory } from '../support/directory.ts';
import type { ProjectCopy } from '../support/projectCopy.ts';
import { OVER_PROCESSES } from './testsOf.ts';

const LIMIT_MS = 300_000;

type Counted = {
  /** Hash of the test's own text: a changed test is counted anew. */
  readonly hash: string;
  readonly passes: boolean;
  readonly durationMs: number;
  /** Null if unknown. */
  readonly files: Readonly<Record<string, Executed>> | null;
};

type Executed = {
  readonly hash: string;
  /** Pairs of a first character that is executed and the next one that is not. */
  readonly bounds: readonly number[];
};

type Range = { readonly startOffset: number; readonly endOffset: number; readonly count: number };
type Report = {
  readonly result: readonly { readonly url: string; readonly functions: { readonly ranges: Range[] }[] }[];
};

export class Coverage {
  readonly #copy: ProjectCopy;
  readonly #directory: string;
  readonly #counted = new Map<string, Counted>();

  /** @param directory results of earlier runs; null stores nothing */
  constructor(copy: ProjectCopy, directory: string | null) {
    this.#copy = copy;
    this.#directory = directory ?? temporaryDirectory();
    mkdirSync(this.#directory, { recursive: true });
  }

  async of(test: string): Promise<Counted> {
    let counted = this.#counted.get(test);
    if (counted === undefined) {
      const path = join(this.#directory, `${test.replaceAll('/', '+')}.json`);
      if (existsSync(path)) counted = JSON.parse(readFileSync(path, 'utf8')) as Counted;
      if (counted?.hash !== hashOf(this.#copy.read(test))) {
        counted = await this.#count(test);
        writeFileSync(path, JSON.stringify(counted));
      }
      this.#counted.set(test, counted);
    }
    return counted;
  }

  /** Also true if unknown: for tests over processes, and if the source has changed since. */
  async executes(test: string, file: string, offset: number): Promise<boolean> {
    const { files } = await this.of(test);
    if (files === null) return true;
    const executed = files[file];
    if (executed === undefined) return false;
    if (executed.hash !== hashOf(this.#copy.read(file))) return true;
    return executed.bounds.filter((bound) => bound <= offset).length % 2 === 1;
  }

  async #count(test: string): Promise<Counted> {
    const reports = OVER_PROCESSES.test(test) ? null : temporaryDirectory();
    const startedMs = performance.now();
    const environment = reports === null ? {} : { NODE_V8_COVERAGE: reports };
    const failure = await this.#copy.failureOf(test, LIMIT_MS, environment);
    const durationMs = Math.round(performance.now() - startedMs);
    if (failure !== null) console.log(`left out   ${test}: ${failure.message}`);
    const hash = hashOf(this.#copy.read(test));
    return { hash, passes: failure === null, durationMs, files: reports === null ? null : this.#filesOf(reports) };
  }

  #filesOf(reports: string): Record<string, Executed> {
    const isExecuted = new Map<string, Uint8Array>();
    for (const name of readdirSync(reports)) {
      const { result } = JSON.parse(readFileSync(join(reports, name), 'utf8')) as Report;
      for (const { url, functions } of result) {
        const ranges = functions.flatMap((each) => each.ranges);
        this.#add(isExecuted, url, ranges);
      }
    }
    rmSync(reports, { recursive: true, force: true });
    return Object.fromEntries(
      [...isExecuted].map(([file, flags]) => [file, { hash: hashOf(this.#copy.read(file)), bounds: boundsOf(flags) }]),
    );
  }

  #add(isExecuted: Map<string, Uint8Array>, url: string, ranges: Range[]): void {
    const root = `${pathToFileURL(this.#copy.root).href}/`;
    const file = url.slice(root.length);
    if (!url.startsWith(root) || !/^(?:engine|gateway|shared)\//.test(file) || !file.endsWith('.ts')) return;
    const flags = new Uint8Array(this.#copy.read(file).length);
    // An inner range overrides the range around it.
    ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
    for (const { startOffset, endOffset, count } of ranges) flags.fill(count > 0 ? 1 : 0, startOffset, endOffset);
    const before = isExecuted.get(file);
    isExecuted.set(file, before === undefined ? flags : flags.map((flag, offset) => flag | before[offset]));
  }
}

function boundsOf(flags: Uint8Array): number[] {
  const bounds: number[] = [];
  for (let offset = 0; offset <= flags.length; offset++) {
    if ((flags[offset] ?? 0) !== (flags[offset - 1] ?? 0)) bounds.push(offset);
  }
  return bounds;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
