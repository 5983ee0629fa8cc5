/** A copy of the project in which a test of the tests changes sources: `npm run planted` and `npm run mutate`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTRACTS } from '../contracts/compile.ts';
import { KERNELS } from '../kernel/build.ts';
import { temporaryDirectory } from './directory.ts';
import { endTree, treeOf } from './processTree.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Everything that the tests load; without the state of an exchange that runs here. */
const COPIED = ['.env.example', 'LICENSE', 'package.json', 'package-lock.json', 'tsconfig.json'];
const COPIED_FOLDERS = ['bench', 'data', 'engine', 'gateway', 'shared', 'test'];
/** `npm run kernel` and `npm run contracts`: the sources that they compile, and the files that they write. */
const COMPILERS: readonly Compiler[] = [
  {
    ending: '.as',
    program: 'test/kernel/main.ts',
    arguments: [],
    writes: KERNELS.map(({ name }) => `engine/verify/kernel/${name}`),
  },
  {
    ending: '.sol',
    program: 'test/contracts/main.ts',
    arguments: ['--without-gas'],
    writes: CONTRACTS.map((contract) => `data/contracts/artifacts/${contract}.json`),
  },
];
const LIVE = join(ROOT, 'data/live');
/** The file itself and not `--test`, which would start a second process for it. */
const FLAGS = [
  '--disable-warning=ExperimentalWarning',
  '--import=./shared/base/keptSources.mjs',
  '--test-reporter=tap',
];
/** Matches a failed test, up to the end of its message. */
const FAILED = /^ *not ok [\s\S]*?^ *\.\.\.$/m;
const KEPT_COLUMNS = 160;
const THROWN = /^(\w*Error(?: \[\w+\])?: .+)$/m;
/** Several times what any test needs. A test in a loop may use up all memory of the machine within seconds. */
const MOST_BYTES = 6 * 1024 ** 3;
const LOOK_EVERY_MS = 200;
/** Length of the kept end of a process's error output, which says why it ends. */
const KEPT_ERRORS = 16_384;
/** A source cannot be loaded. JSON.parse throws a SyntaxError as well, for an answer that is no JSON. */
const NO_PROGRAM =
  /SyntaxError(?![\s\S]*JSON\.parse)|ERR_MODULE_NOT_FOUND|ERR_INVALID_TYPESCRIPT|ERR_UNSUPPORTED_TYPESCRIPT/;

type Compiler = {
  readonly ending: string;
  readonly program: string;
  readonly arguments: readonly string[];
  readonly writes: readonly string[];
};

/** The way in which a test failed. */
export type Failure = {
  readonly message: string;
  /** It did not end in its time, or its runner did not, or it took more memory than a test may. */
  readonly hasNoEnd: boolean;
  /** True if the failure has no message. */
  readonly isWordless: boolean;
  /** The changed source cannot be loaded. */
  readonly isNoProgram: boolean;
};

export class ProjectCopy {
  readonly root = temporaryDirectory();

  constructor() {
    const options = { recursive: true, filter: (path: string) => path !== LIVE };
    for (const name of [...COPIED, ...COPIED_FOLDERS]) cpSync(join(ROOT, name), join(this.root, name), options);
    symlinkSync(join(ROOT, 'node_modules'), join(this.root, 'node_modules'));
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8');
  }

  /** Changes the one place in a file that has this text. */
  change(path: string, search: string, replace: string): void {
    const parts = this.read(path).split(search);
    if (parts.length !== 2) throw new Error(`${path} has ${parts.length - 1} places with ${search}, not one`);
    writeFileSync(join(this.root, path), parts.join(replace));
  }

  /** Runs `use` while the file has this text. */
  async with<T>(path: string, text: string, use: () => Promise<T>): Promise<T> {
    const original = this.read(path);
    writeFileSync(join(this.root, path), text);
    try {
      return await use();
    } finally {
      writeFileSync(join(this.root, path), original);
    }
  }

  /** Runs `use` with what follows from the changed source: a kernel, or the artifacts of the contracts. */
  async withCompiled<T>(path: string, use: () => Promise<T>): Promise<T> {
    const compiler = COMPILERS.find(({ ending }) => path.endsWith(ending));
    if (compiler === undefined) return use();
    const written = compiler.writes.map((name) => join(this.root, name));
    const originals = written.map((name) => readFileSync(name));
    const flags = FLAGS.filter((flag) => !flag.startsWith('--test'));
    const args = [...flags, compiler.program, ...compiler.arguments];
    const running = spawn(process.execPath, args, { cwd: this.root, stdio: ['ignore', 'ignore', 'inherit'] });
    try {
      const [code] = await once(running, 'close');
      if (code !== 0) throw new Error(`${path} does not compile`);
      return await use();
    } finally {
      for (const [index, name] of written.entries()) writeFileSync(name, originals[index]);
    }
  }

  /**
   * Runs one test file, up to its first failure. Everything that it started ends with it.
   * @param environment variables in addition to those of this process
   * @returns null if it passed
   */
  async failureOf(
    testPath: string,
    limitMs: number,
    environment: NodeJS.ProcessEnv = {},
    mostBytes = MOST_BYTES,
  ): Promise<Failure | null> {
    // A group of its own: servers that a test leaves behind are ended with it.
    const runner = spawn(process.execPath, [...FLAGS, testPath], {
      cwd: this.root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // As in a process of its own: within a test of this project it would report to that test's runner.
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...environment },
    });
    const pid = runner.pid!;
    let output = '';
    let errors = '';
    let endedBecause: string | null = null;
    const endAll = (): void => {
      endTree(treeOf(pid));
      try {
        process.kill(-pid, 'SIGKILL');
      } catch {
        // The group has ended.
      }
    };
    runner.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-KEPT_ERRORS);
    });
    runner.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (FAILED.test(output)) endAll();
    });
    const timer = setTimeout(() => {
      endedBecause = 'it did not end';
      endAll();
    }, limitMs);
    const watch = setInterval(() => {
      const tree = treeOf(pid);
      if (tree.bytes <= mostBytes) return;
      endedBecause = `it took ${(tree.bytes / 1024 ** 3).toFixed(1)} GB of memory`;
      endTree(tree);
      endAll();
    }, LOOK_EVERY_MS);
    process.once('exit', endAll);
    const [code] = await once(runner, 'close');
    clearTimeout(timer);
    clearInterval(watch);
    process.off('exit', endAll);
    endAll();
    return code === 0 ? null : describe(output, errors, endedBecause);
  }
}

/**
 * Returns the first line of the first failing test's message; for a file that ends outside of its tests, the error with
 * which it ends.
 * @param endedBecause null unless it had to be ended
 */
function describe(output: string, errors: string, endedBecause: string | null): Failure {
  const [first] = FAILED.exec(output) ?? [output];
  // A long text is cut, and has no quotation mark at its end then.
  const [, quoted, firstOfMany] = /^ *error: (?:['"](.*?)['"]?|\|-\n *(.*))$/m.exec(first) ?? [];
  const [, thrown] = /^# Error: .* created the error "(.*?)" which/m.exec(output) ?? THROWN.exec(errors) ?? [];
  const words = quoted ?? firstOfMany ?? thrown;
  const hasNoEnd = endedBecause !== null || /failureType: 'testTimeoutFailure'/.test(first);
  return {
    message: (endedBecause ?? words ?? (hasNoEnd ? 'it did not end' : 'it failed without a word')).slice(
      0,
      KEPT_COLUMNS,
    ),
    hasNoEnd,
    isWordless: words === undefined,
    // A test file whose own imports cannot be loaded does not even begin to report.
    isNoProgram: NO_PROGRAM.test(first) || (output === '' && endedBecause === null),
  };
}
