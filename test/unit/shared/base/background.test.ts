import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { NICE_IDLER } from '../../../../shared/base/background.ts';

const NICE_FIELD = 16;

function niceOf(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[NICE_FIELD]);
}

const isLinux = process.platform === 'linux';

test('a thread that steps back leaves the others where they are', {
  skip: !isLinux && 'not on this system',
}, async () => {
  const before = getPriority();
  const url = new URL('../../../../shared/base/background.ts', import.meta.url).href;
  const program = `
    import { readFileSync } from 'node:fs';
    import { parentPort } from 'node:worker_threads';
    import { NICE_IDLER, stepBack } from ${JSON.stringify(url)};
    stepBack(NICE_IDLER);
    parentPort.postMessage(readFileSync('/proc/thread-self/stat', 'utf8'));`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  const [stat] = await once(worker, 'message');
  assert.equal(niceOf(stat), NICE_IDLER);
  assert.equal(niceOf(readFileSync('/proc/self/stat', 'utf8')), before);
});
