/** An exchange whose fast kernel is missing trades with the plain one, and its log says so once. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { ProjectCopy } from '../support/projectCopy.ts';
import { TestServer } from '../support/server.ts';

const server = new TestServer(temporaryDirectory());
after(() => server.kill());

/** Lines of the log about the kernel that cannot be loaded. */
function warnings(): Record<string, unknown>[] {
  const lines = server.stdout.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  return lines.filter(({ msg }) => /fast kernel cannot be loaded/.test(msg));
}

test('a fast kernel that is missing is warned about once, and the plain one serves in every shard', async () => {
  const copy = new ProjectCopy();
  rmSync(join(copy.root, 'engine/verify/kernel/kernelFused.wasm'));
  server.project = copy.root;
  // The verifier threads load it too.
  await server.start({ VERIFY_THREADS: '2' });
  await eventually('the report of a shard', async () => warnings().length > 0);
  const [warning, ...others] = warnings();
  assert.deepEqual(others, [], 'once, and not for every thread');
  assert.equal(warning.level, 'warn');
  assert.match(String(warning.err), /ENOENT.*kernelFused\.wasm/);
  for (const shard of [0, 1]) {
    const sample = `exchange_verifier_info{shard="${shard}",verifier="kernel-plain"} 1`;
    await eventually(sample, async () => (await (await fetch(`${server.baseUrl}/metrics`)).text()).includes(sample));
  }
});
