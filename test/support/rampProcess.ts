/** The sandbox provider as the process that it is (`npm run ramp`), started, killed and driven by a test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { addressOf } from '../../shared/client/privateKey.ts';
import { argumentsOfNode } from './builtPrograms.ts';
import { temporaryDirectory } from './directory.ts';
import { freePort } from './freePort.ts';
import type { Scope } from './server.ts';

export const RAMP_PROGRAM = fileURLToPath(new URL('../../gateway/programs/ramp/main.ts', import.meta.url));

type Settings = Readonly<Record<string, string>>;

export class RampProcess {
  readonly url: string;
  readonly #privateKey: string;
  readonly #file = join(temporaryDirectory(), 'ramp.db');
  #settings: Settings = {};
  #child: ChildProcess | null = null;

  private constructor(port: number, privateKey: string) {
    this.url = `http://127.0.0.1:${port}`;
    this.#privateKey = privateKey;
  }

  /** It is not started yet: the exchange is first. */
  static async on(scope: Scope, privateKey: string): Promise<RampProcess> {
    const ramp = new RampProcess(await freePort(), privateKey);
    scope.after(() => void ramp.#child?.kill('SIGKILL'));
    return ramp;
  }

  /** The settings that it shares with the exchange. */
  get shared(): Settings {
    return {
      FIAT_SANDBOX_URL: this.url,
      FIAT_SANDBOX_API_KEY: 'the-key-of-the-exchange',
      FIAT_SANDBOX_WEBHOOK_SECRETS: 'the-secret-of-events',
    };
  }

  /** Environment of an exchange that has this provider. */
  get environment(): Settings {
    return { ...this.shared, FIAT_PROVIDERS: 'sandbox', FIAT_SANDBOX_ADDRESS: addressOf(this.#privateKey) };
  }

  /** Resolves once it listens. @param more settings, kept for its next starts */
  async start(exchangeUrl: string, more: Settings = this.#settings): Promise<void> {
    this.#settings = more;
    const env = {
      ...this.shared,
      ...more,
      RAMP_EXCHANGE_URL: exchangeUrl,
      RAMP_PRIVATE_KEY: this.#privateKey,
      RAMP_FILE: this.#file,
      RAMP_RETURN_ORIGINS: exchangeUrl,
    };
    const args = [...argumentsOfNode(), RAMP_PROGRAM];
    this.#child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(createInterface({ input: this.#child.stdout! }), 'line');
  }

  async kill(): Promise<void> {
    const ended = once(this.#child!, 'exit');
    this.#child!.kill('SIGKILL');
    await ended;
    this.#child = null;
  }

  async control(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${this.shared['FIAT_SANDBOX_API_KEY']}` };
    const response = await fetch(`${this.url}/control/${path}`, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    return (await response.json()) as Record<string, unknown>;
  }
}
