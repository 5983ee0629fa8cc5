/** `npm run admin` in the test's own process, with surroundings of the test's own. */
import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { runAdmin } from '../../engine/admin/program.ts';

type Ran = { readonly status: number; readonly stdout: string; readonly stderr: string };

class Collected extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk;
    done();
  }
}

export async function runAdminHere(args: readonly string[], env: Record<string, string>): Promise<Ran> {
  const [out, err] = [new Collected(), new Collected()];
  const status = await runAdmin([...args], { env, input: new PassThrough().end(), out, err });
  return { status, stdout: out.text, stderr: err.text };
}

/** The operator's checks of a directory whose exchange has ended: of its money, its journals and its history. */
export async function assertWhole(directory: string, env: Record<string, string> = {}): Promise<void> {
  for (const [args, last] of [
    [['audit'], 'balanced'],
    [['journal', 'verify'], 'ok'],
    [['projections', 'verify'], 'ok'],
  ] as const) {
    const { status, stdout, stderr } = await runAdminHere(args, { DATA_DIR: directory, ...env });
    const said = `${args.join(' ')} of ${directory}: ${stdout}${stderr}`;
    assert.deepEqual([status, stdout.trimEnd().split('\n').at(-1)], [0, last], said);
  }
}
