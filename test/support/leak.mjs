/**
 * Preloaded into a server: on SIGUSR2 it holds as many open files and bytes of memory as the file LEAK says, like a
 * defect that never releases them. It prints a line once it does.
 */
import { openSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const files = [];
  const memory = [];
  process.on('SIGUSR2', () => {
    const wanted = JSON.parse(readFileSync(process.env.LEAK, 'utf8'));
    while (files.length < wanted.files) files.push(openSync('/dev/null'));
    const held = memory.reduce((sum, { length }) => sum + length, 0);
    if (wanted.bytes > held) memory.push(Buffer.alloc(wanted.bytes - held, 1));
    process.stdout.write(`${JSON.stringify({ msg: 'the test has leaked', ...wanted })}\n`);
  });
}
