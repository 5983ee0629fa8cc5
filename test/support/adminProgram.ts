/** `npm run admin` in the test's own process, with surroundings of the test's own. */
import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { runAdmin } from '../../engine/admin/program.ts';

/** Each command, and the line with which it ends. */
const CHECKS = [
  [['audit'], 'balanced'],
  [['journal', 'verify'], 'ok'],
  [['projections', 'verify'], 'ok'],
] as const;

type Ran = { readonly status: number; readonly stdout: string; readonly stderr: string };

class Collected extends Writable {
  text = '';

  readonly #onText: ((text: string) => void) | undefined;

  constructor(onText?: (text: string) => void) {
    super();
    this.#onText = onText;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk;
    this.#onText?.(chunk.toString());
    done();
  }
}

/** @param onText called with the text that the program prints, as soon as it is printed */
export async function runAdminHere(
  args: readonly string[],
  env: Record<string, string>,
  onText?: (text: string) => void,
): Promise<Ran> {
  const [out, err] = [new Collected(onText), new Collected()];
  const status = await runAdmin([...args], { env, input: new PassThrough().end(), out, err });
  return { status, stdout: out.text, stderr: err.text };
}

/**
 * Runs the operator's checks of a directory whose exchange has ended: of its money, its journals and its history.
 * @param masterKey the master key if it is in no file of the directory, because records are checked with the key of
 * this process
 */
export async function assertWhole(directory: string, masterKey?: string): Promise<void> {
  const before = process.env['MASTER_KEY'];
  if (masterKey !== undefined) process.env['MASTER_KEY'] = masterKey;
  try {
    for (const [args, last] of CHECKS) {
      const { status, stdout, stderr } = await runAdminHere(args, { DATA_DIR: directory });
      const said = `${args.join(' ')} of ${directory}: ${stdout}${stderr}`;
      assert.deepEqual([status, stdout.trimEnd().split('\n').at(-1)], [0, last], said);
    }
  } finally {
    if (before === undefined) delete process.env['MASTER_KEY'];
    else process.env['MASTER_KEY'] = before;
  }
}
