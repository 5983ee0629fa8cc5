/** The exchange of a demo on a chain: a process of its own, whose warnings are shown and whose other lines are not. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';

const PROGRAM = fileURLToPath(new URL('../../gateway/main.ts', import.meta.url));
/** Levels of log lines that are for a person. */
const SHOWN: readonly string[] = ['warn', 'error', 'fatal'];

export class DemoExchange {
  readonly adminToken: string;
  /** The exit code. */
  readonly ended: Promise<number>;
  /** Never resolves where its output is not read. */
  readonly listening: Promise<true>;
  baseUrl = '';
  readonly #process: ChildProcess;
  #isStopping = false;

  private constructor(process: ChildProcess, adminToken: string) {
    this.#process = process;
    this.adminToken = adminToken;
    this.ended = new Promise((resolve, reject) => {
      process.once('error', reject);
      process.once('exit', (code) => resolve(code ?? 1));
    });
    this.listening = new Promise((resolve) => {
      if (process.stdout === null) return;
      createInterface({ input: process.stdout }).on('line', (line) => {
        if (this.#isListening(line)) resolve(true);
      });
    });
  }

  /** @param output inherited: all of its output goes where this process's goes */
  static start(env: NodeJS.ProcessEnv, output: 'inherit' | 'read'): DemoExchange {
    const isRead = output === 'read';
    const adminToken = env['ADMIN_TOKEN'] ?? randomBytes(24).toString('base64url');
    const child = spawn(process.execPath, [...STRIPPED_BEFORE, PROGRAM], {
      stdio: ['ignore', isRead ? 'pipe' : 'inherit', 'inherit'],
      env: isRead ? { ...env, ADMIN_TOKEN: adminToken, LOG_LEVEL: 'info' } : env,
    });
    return new DemoExchange(child, adminToken);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await exited;
  }

  #isListening(line: string): boolean {
    if (!line.startsWith('{')) return false;
    const entry = JSON.parse(line) as { level: string; msg: string; host: string; port: number };
    // The chain of a demo may end before the exchange does, which then says so.
    if (SHOWN.includes(entry.level) && !this.#isStopping) process.stderr.write(`${line}\n`);
    if (entry.msg !== 'listening') return false;
    this.baseUrl = `http://${entry.host}:${entry.port}`;
    return true;
  }
}
