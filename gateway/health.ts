/**
 * Asks the exchange that these settings start whether it is up, for the health check of a container or a supervisor:
 * `node gateway/health.ts [--ready] [--wait SECONDS [--pid PID]]`, in the exchange's own environment. Ends with 0 if it
 * is, and with 1 and a line that says why if it is not. `--ready` asks whether it accepts orders; `--wait` asks again
 * until it does, or until the process has ended.
 */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Config, ConfigError, EXIT_CONFIG, parseConfig } from './base/config.ts';

const LIMIT_MS = 5000;
const ASK_AGAIN_MS = 250;
const OK = 200;
/** Addresses to listen on that are none to connect to. */
const EVERY_ADDRESS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

const { values } = parseArgs({
  options: {
    ready: { type: 'boolean', default: false },
    wait: { type: 'string', default: '0' },
    pid: { type: 'string' },
  },
});

/** Null when it answered as it should. */
function problemOf({ host, port, tls }: Config, path: string): Promise<string | null> {
  const hostname = EVERY_ADDRESS[host] ?? host;
  const request = tls === null ? requestHttp : requestHttps;
  // The certificate is for the name that clients use. This asks the process on this machine, and sends it nothing.
  const options = { hostname, port, path, timeout: LIMIT_MS, rejectUnauthorized: false };
  return new Promise((resolve) => {
    const asked = request(options, (response) => {
      response.resume();
      resolve(response.statusCode === OK ? null : `${path} answered ${response.statusCode}`);
    });
    asked.once('timeout', () => asked.destroy(new Error(`no answer within ${LIMIT_MS} ms`)));
    asked.once('error', ({ message }) => resolve(`${hostname}:${port}: ${message}`));
    asked.end();
  });
}

/** Returns null if the check passed. */
async function ask(): Promise<string | null> {
  const config = parseConfig(process.env, availableParallelism());
  const path = values.ready ? '/ready' : '/health';
  const endMs = performance.now() + Number(values.wait) * 1000;
  for (;;) {
    const problem = await problemOf(config, path);
    if (problem === null || !(performance.now() < endMs)) return problem;
    if (values.pid !== undefined && !isRunning(Number(values.pid))) return 'its process has ended';
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

try {
  const problem = await ask();
  if (problem !== null) console.error(`error: ${problem}`);
  process.exitCode = problem === null ? 0 : 1;
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(`error: ${error.message}`);
  process.exitCode = EXIT_CONFIG;
}
