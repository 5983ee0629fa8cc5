/** Starts the program that trades in the demo, as a process of its own that ends with this one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import type { Logger } from '../base/log.ts';

const PROGRAM = fileURLToPath(new URL('../../shared/client/examples/demoFlow.ts', import.meta.url));

/** @param path the demo's file, which holds the keys of its accounts */
export function startDemoFlow(path: string, log: Logger): ChildProcess {
  const child = spawn(process.execPath, [...STRIPPED_BEFORE, PROGRAM, path], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {},
  });
  child.on('error', (error) => log.warn({ err: error }, 'the program that trades in the demo could not be started'));
  // The exchange does not wait for the flow: the flow ends when the channel does.
  child.unref();
  child.channel?.unref();
  return child;
}
