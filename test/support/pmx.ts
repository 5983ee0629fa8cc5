/** The command line `pmx` in the test's own process, with surroundings of the test's own. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type Clock, systemClock } from '../../shared/base/clock.ts';
import type { Input, Terminal } from '../../shared/client/cli/frame/terminal.ts';
import { GROUPS } from '../../shared/client/cli/groups.ts';
import { runProgram } from '../../shared/client/cli/program.ts';
import { temporaryDirectory } from './directory.ts';
import type { Json } from './server.ts';

type Ran = { readonly code: number; readonly out: string; readonly err: string };

type Surroundings = {
  readonly env?: Record<string, string>;
  /** The text that comes through the pipe. */
  readonly input?: string;
  readonly clock?: Clock;
  readonly interrupted?: AbortSignal;
  /** A terminal of this size in place of pipes. */
  readonly size?: { readonly columns: number; readonly rows: number } | undefined;
  /** Called with everything that is printed, as it is printed. */
  readonly onOut?: (text: string) => void;
};

/** A pipe, or a terminal of a size, whose reader reads everything at once. */
class Collected extends EventEmitter {
  text = '';
  readonly isTTY: boolean;
  columns: number | undefined;
  rows: number | undefined;
  readonly #onText: (text: string) => void;

  constructor({ size, onOut = () => {} }: Surroundings) {
    super();
    this.isTTY = size !== undefined;
    this.columns = size?.columns;
    this.rows = size?.rows;
    this.#onText = onOut;
  }

  write(text: string): boolean {
    this.text += text;
    this.#onText(text);
    return true;
  }
}

export class Pmx {
  /** Settings and sessions of this user; nothing of the machine's own is read. */
  readonly home = temporaryDirectory();
  readonly #env: Record<string, string>;

  constructor(env: Record<string, string>) {
    this.#env = { DATA_DIR: join(this.home, 'no-demo'), HOME: this.home, ...env };
  }

  async run(args: readonly string[], surroundings: Surroundings = {}): Promise<Ran> {
    const out = new Collected(surroundings);
    const err = new Collected({ size: surroundings.size });
    const input: Input = new PassThrough();
    input.push(surroundings.input ?? '');
    input.push(null);
    const terminal: Terminal = {
      env: { ...this.#env, ...surroundings.env },
      out,
      err,
      input,
      clock: surroundings.clock ?? systemClock,
      interrupted: surroundings.interrupted ?? new AbortController().signal,
    };
    const code = await runProgram(GROUPS, args, terminal);
    return { code, out: out.text, err: err.text };
  }

  /** Succeeds; the lines of the answer. */
  async lines(...args: string[]): Promise<string[]> {
    const { code, out, err } = await this.run(args);
    assert.equal(code, 0, `pmx ${args.join(' ')}: ${out}${err}`);
    return out.trimEnd().split('\n');
  }

  /** Succeeds; the value that `--json` prints. */
  async json(...args: string[]): Promise<Json> {
    const { code, out, err } = await this.run([...args, '--json']);
    assert.equal(code, 0, `pmx ${args.join(' ')}: ${out}${err}`);
    return JSON.parse(out);
  }

  /** Fails with this exit code; what `--json` prints on standard error. */
  async failure(code: number, ...args: string[]): Promise<Json> {
    return this.failureWith({}, code, ...args);
  }

  /** The same with these additions to the environment. */
  async failureWith(env: Record<string, string>, code: number, ...args: string[]): Promise<Json> {
    const ran = await this.run([...args, '--json'], { env });
    assert.equal(ran.code, code, `pmx ${args.join(' ')}: ${ran.out}${ran.err}`);
    assert.equal(ran.out, '', 'nothing on standard output');
    return JSON.parse(ran.err);
  }
}
