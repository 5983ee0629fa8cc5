/**
 * A real server process for the api tests: `gateway/main.ts` on a port that the system chooses, in a data directory of
 * its own. The process ends with the test in any case.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AdminClient } from '../../shared/client/admin.ts';
import type { RetryPolicy } from '../../shared/client/retry.ts';
import { backend } from './backend.ts';
import { argumentsOfNode } from './builtPrograms.ts';
import { checkAnswersOf } from './contract.ts';
import { temporaryDirectory } from './directory.ts';
import { PATIENCE_MS, within } from './eventually.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Far above any start, even on a busy machine: it only turns a server that hangs into a failure with its log. */
const START_LIMIT_MS = 600_000;

const TEST_ADMIN_TOKEN = 'the-admin-token-of-all-the-tests';

type Environment = Record<string, string>;
// biome-ignore lint/suspicious/noExplicitAny: what a server sends is what a test is about to check
export type Json = any;
export type Answer = { status: number; headers: Headers; body: Json };
/** A test context, or the `after` of node:test for a server that a whole file shares. */
export type Scope = { after(cleanUp: () => void | Promise<void>): void };

export class TestServer {
  readonly dataDir: string;
  /** The folder of the program that its next start runs; it may be another version. */
  project = ROOT;
  readonly adminToken = TEST_ADMIN_TOKEN;
  /**
   * Retries of typed clients: each call is one request, whose answer the test sees. Retries have tests of their own.
   */
  readonly retry: Partial<RetryPolicy> | false = false;
  /** Timeout of their requests: a program gives up after seconds, in which a busy machine may not have answered. */
  readonly timeoutMs: number = PATIENCE_MS;
  /** Everything the process printed, over all its starts. */
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  #baseUrl = '';
  #adminUrl = '';
  #process: ChildProcess | null = null;
  #isEnding = false;
  readonly #shards: string;

  /** A directory keeps its number of shards, so each start has the same. */
  constructor(dataDir: string, shards = '2') {
    this.dataDir = dataDir;
    this.#shards = shards;
  }

  /** Changes with every start. */
  get baseUrl(): string {
    return this.#baseUrl;
  }

  get admin(): AdminClient {
    const { adminToken: token, retry, timeoutMs } = this;
    const Client = backend?.Admin ?? AdminClient;
    return new Client({ baseUrl: this.#adminUrl, token, retry, timeoutMs });
  }

  /** The address for administrators: with ADMIN_PORT it differs from `baseUrl`. */
  get adminUrl(): string {
    return this.#adminUrl;
  }

  /** Where streams are opened. */
  get streamUrl(): string {
    return this.baseUrl;
  }

  get isRunning(): boolean {
    return this.#process !== null;
  }

  /** Everywhere that reads are answered at the moment: of a cluster at each member. */
  async places(): Promise<readonly TestServer[]> {
    return [this];
  }

  /** Id of the running process, so that a tracer can attach to it. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Its end is part of the test: nothing is printed when it comes. */
  mayEnd(): void {
    this.#isEnding = true;
  }

  /** The same, but the end has to come. Resolves with the exit code. */
  async expectEnd(): Promise<number | null> {
    this.mayEnd();
    return this.#process === null ? null : this.#exitOf(this.#process);
  }

  /**
   * Resolves once the server listens; rejects with its output when it ends before. `wrapper` is a command that takes
   * the server's as its last arguments and becomes it, keeping its process id.
   */
  async start(env: Environment = {}, wrapper: readonly string[] = []): Promise<void> {
    assert.equal(this.#process, null, 'the server runs already');
    this.#isEnding = wrapper.length > 0;
    const [command, ...args] = [
      ...wrapper,
      process.execPath,
      ...argumentsOfNode(this.project),
      join(this.project, 'gateway/main.ts'),
    ];
    const child = spawn(command!, args, {
      cwd: this.project,
      env: {
        ...baseEnvironment(this.dataDir),
        SHARDS: this.#shards,
        ...(await backend?.settings(this.dataDir)),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    child.once('exit', (code) => {
      this.#process = null;
      // The next request would only say that the connection was refused.
      if (!this.#isEnding)
        console.error([`the server ended with code ${code}`, ...this.stdout, ...this.stderr].join('\n'));
    });
    createInterface({ input: child.stderr! }).on('line', (line) => this.stderr.push(line));
    const { port, adminPort } = await this.#readPorts(child);
    this.#baseUrl = `http://127.0.0.1:${port}`;
    this.#adminUrl = `http://127.0.0.1:${adminPort}`;
    // The other port may speak TLS.
    await checkAnswersOf(this.#adminUrl);
    await backend?.started(this);
  }

  /** SIGTERM; resolves with the exit code. */
  async stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  /** SIGKILL: nothing is flushed, nothing is said. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Starts a new process on the same data directory; a running one is stopped first. */
  async restart(env: Environment = {}): Promise<void> {
    if (this.#process !== null) await this.stop();
    await this.start(env);
  }

  /** A request as the administrator where the typed client does not fit: refusals, raw bodies. */
  adminRequest(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.request(method, path, body, { authorization: `Bearer ${this.adminToken}` });
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(this.#baseUrl + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await within(`the whole answer to ${method} ${path}`, response.text());
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    const child = this.#process;
    if (child === null) return null;
    this.#isEnding = true;
    const exited = this.#exitOf(child);
    child.kill(signal);
    return exited;
  }

  async #exitOf(child: ChildProcess): Promise<number | null> {
    const what = (): string => ['the end of the server, which has printed:', ...this.stdout, ...this.stderr].join('\n');
    const [code] = await within(what, once(child, 'exit'));
    return code;
  }

  #readPorts(child: ChildProcess): Promise<Ports> {
    return new Promise((resolve, reject) => {
      const fail = (reason: string) => {
        clearTimeout(limit);
        reject(new Error([reason, ...this.stdout, ...this.stderr].join('\n')));
      };
      const limit = setTimeout(() => {
        child.kill('SIGKILL');
        fail('the server did not start in time');
      }, START_LIMIT_MS);
      child.once('close', (code) => fail(`the server ended with code ${code}`));
      createInterface({ input: child.stdout! }).on('line', (line) => {
        this.stdout.push(line);
        const ports = portsOf(line);
        if (ports === null) return;
        clearTimeout(limit);
        resolve(ports);
      });
    });
  }
}

/**
 * Starts a server on a new directory, unless `env` names one, and ends it at the end of `scope`. With the `after` of
 * node:test it is awaited at the top of the file: inside a `before` hook that `after` belongs to the hook. One shard is
 * enough (`SHARDS: '1'`) if a test does not need several: a thread is a sixth of the cost of a start.
 */
export async function startServer(scope: Scope, env: Environment = {}): Promise<TestServer> {
  const server = new TestServer(env['DATA_DIR'] ?? temporaryDirectory(), env['SHARDS']);
  scope.after(async () => {
    try {
      if (backend !== null) await checkOn(backend, server, env);
    } finally {
      await server.kill();
    }
  });
  await server.start(env);
  return server;
}

/** A server killed by its test is started again for the check. */
async function checkOn(chain: NonNullable<typeof backend>, server: TestServer, env: Environment): Promise<void> {
  if (!server.isRunning) await server.start(env);
  await chain.check(server);
}

let shared: TestServer | undefined;
/** The number of files of this process that have requested it. */
let sharing = 0;

/**
 * The server, with the usual settings, of all files of this process that ask for it: in the suite these are several
 * (together.ts). A file finds it running, with the data of others in it, and may restart or kill it.
 */
export async function sharedServer(): Promise<TestServer> {
  sharing++;
  if (shared?.isRunning) return shared;
  try {
    await shared?.start();
  } catch {
    // A test that has failed may have left its directory in a state in which no server starts.
    shared = undefined;
  }
  shared ??= await startServer({ after });
  return shared;
}

/**
 * Runs a check after every test of the file that requested the shared server last, and not after tests of later files.
 */
export function afterEachOfFile(check: () => Promise<void>): void {
  const file = sharing;
  afterEach(() => (file === sharing ? check() : undefined));
}

/** Nothing of the caller's environment, so a PORT or DATA_DIR there changes no test. */
function baseEnvironment(dataDir: string): Environment {
  return {
    PATH: process.env['PATH'] ?? '',
    PORT: '0',
    DATA_DIR: dataDir,
    ADMIN_TOKEN: TEST_ADMIN_TOKEN,
    DEMO: 'off',
    DEMO_FLOW: 'off',
    DEMO_RAMP: 'off',
    RATE_LIMITS: 'off',
    // Taking it costs every start a tenth of a second, and a rehearsal more than a second.
    JOURNAL_RESERVE_MB: '0',
    REHEARSE: 'off',
    // `GATEWAYS=3 node shared/run.mjs --test …` runs the same tests with front threads.
    GATEWAYS: process.env['GATEWAYS'] ?? '1',
  };
}

type Ports = { port: number; adminPort: number };

/** The line `{"msg":"listening","port":…}` says that requests are answered; without ADMIN_PORT all at one port. */
function portsOf(line: string): Ports | null {
  // The last line of a killed server may be incomplete.
  if (!line.startsWith('{') || !line.includes('"msg":"listening"')) return null;
  const entry = JSON.parse(line);
  return { port: entry.port, adminPort: entry.admin_port ?? entry.port };
}
