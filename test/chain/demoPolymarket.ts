/** `npm run polymarket` beside a demo: a process of its own, which ends with the demo. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { STRIPPED_BEFORE } from '../../shared/base/stripTypes.ts';
import { ExchangeClient } from '../../shared/client/client.ts';

const PROGRAM = fileURLToPath(new URL('../../gateway/programs/polymarket/main.ts', import.meta.url));
const DEFAULT_PORT = '8080';
const LOOK_EVERY_MS = 250;

export class DemoPolymarket {
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#process = child;
  }

  /** Waits for the exchange, which listens on its port on loopback. @param signal ends the wait */
  static async start(env: NodeJS.ProcessEnv, adminToken: string, signal: AbortSignal): Promise<DemoPolymarket> {
    const exchange = `http://127.0.0.1:${env['PORT'] ?? DEFAULT_PORT}`;
    const client = new ExchangeClient({ baseUrl: exchange, retry: false });
    while (
      !(await client.ready().then(
        () => true,
        () => false,
      ))
    )
      await sleep(LOOK_EVERY_MS, null, { signal });
    const child = spawn(process.execPath, [...STRIPPED_BEFORE, PROGRAM], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: {
        POLYMARKET_FILE: join(env['DATA_DIR'] ?? 'data/live', 'polymarket.db'),
        ...env,
        POLYMARKET_EXCHANGE_URL: exchange,
        ADMIN_TOKEN: adminToken,
      },
    });
    return new DemoPolymarket(child);
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await exited;
  }
}
