/** A real redis-server on a free port, in memory only; a test that finds none installed is skipped and says so. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createClient } from '@redis/client';
import { freePort } from './freePort.ts';
import type { Scope } from './server.ts';

/** For the `skip` of a test. */
export const NO_REDIS =
  spawnSync('redis-server', ['--version']).error === undefined
    ? false
    : 'redis-server is not installed (Debian: apt-get install redis-server)';

/** Another process may take the port between the look and the start. */
const ATTEMPTS = 5;

export class TestRedis {
  readonly port: number;
  readonly #password: string;
  #process: ChildProcess | null = null;

  constructor(port: number, password: string) {
    this.port = port;
    this.#password = password;
  }

  /** The URL with its password. */
  get url(): string {
    return `redis://:${this.#password}@127.0.0.1:${this.port}`;
  }

  /** Resolves once connections are accepted; with nothing in it, scripts neither. False: it ended instead. */
  async start(): Promise<boolean> {
    const args = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    args.push('--requirepass', this.#password, '--enable-protected-configs', 'yes');
    const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.includes('Ready to accept connections')) continue;
      child.stdout.resume();
      this.#process = child;
      return true;
    }
    return false;
  }

  /** One command over a connection of its own. */
  async command(...words: string[]): Promise<void> {
    const client = await createClient({ url: this.url }).connect();
    await client.sendCommand(words);
    client.destroy();
  }

  /** A save in the background fails, after which nothing is stored. */
  async failSaving(): Promise<void> {
    const client = await createClient({ url: this.url }).connect();
    await client.sendCommand(['CONFIG', 'SET', 'save', '3600 1']);
    await client.sendCommand(['CONFIG', 'SET', 'dbfilename', 'nowhere.rdb']);
    await client.sendCommand(['CONFIG', 'SET', 'dir', '/proc']);
    await client.sendCommand(['BGSAVE']);
    for (;;) {
      const info = String(await client.sendCommand(['INFO', 'persistence']));
      if (info.includes('rdb_last_bgsave_status:err')) break;
    }
    client.destroy();
  }

  /** Connections since its start, including those of `command` and of this call. */
  async connectionsReceived(): Promise<number> {
    const client = await createClient({ url: this.url }).connect();
    const info = String(await client.sendCommand(['INFO', 'stats']));
    client.destroy();
    return Number(/total_connections_received:(\d+)/.exec(info)![1]);
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === null) return;
    this.#process = null;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Connections stay open and accept data, but nothing ever comes back. */
  hang(): void {
    this.#process!.kill('SIGSTOP');
  }

  goOn(): void {
    this.#process!.kill('SIGCONT');
  }
}

export async function startRedis(scope: Scope): Promise<TestRedis> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const redis = await redisToStart(scope);
    if (await redis.start()) return redis;
  }
  throw new Error('redis-server does not start');
}

/** A Redis that does not run yet, at an address where it can be started. */
export async function redisToStart(scope: Scope): Promise<TestRedis> {
  const redis = new TestRedis(await freePort(), randomUUID());
  scope.after(() => redis.kill());
  return redis;
}
