/**
 * Runs commands of the battery of damages on one copy of the directory, and collects everything that an operator sees.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { within } from '../eventually.ts';
import { type Scope, TestServer } from '../server.ts';
import { NOBODY } from './nobody.ts';
import { startAsNobody, toldBy, type World } from './world.ts';

const LOADER = new URL('../../../shared/base/keptSources.mjs', import.meta.url).href;

export type Seen = {
  /** The exit code of a command; of a start 0 when it listens. */
  readonly code: number;
  readonly text: string;
};

/** Returns the warnings and errors of the log, and other printed lines. */
function linesOf({ stdout, stderr }: TestServer): string[] {
  const logged = stdout.flatMap((line) => {
    if (!line.startsWith('{')) return [];
    const { level, msg, err, ...rest } = JSON.parse(line);
    if (level === 'info' || msg === 'slow request') return [];
    delete rest.time;
    return [[msg, err?.message, JSON.stringify(rest)].filter((part) => part !== undefined && part !== '{}').join(': ')];
  });
  return [...logged, ...stderr];
}

/**
 * Starts the exchange, and checks whether it shows accounts what it had shown them before. The exchange is killed
 * afterwards.
 */
export async function start(directory: string, world: World): Promise<Seen> {
  const server = new TestServer(directory, '1');
  try {
    await startAsNobody(server, world.settings);
    await world.awaitLead?.(server);
  } catch {
    return { code: 1, text: linesOf(server).join('\n') };
  }
  const told = await toldBy(server, world).catch((error: Error) => error.message);
  const ready = await server.request('GET', '/ready');
  await server.kill();
  const same = told === world.told ? 'tells the same' : `tells something else: ${told.slice(0, 100)}`;
  const lines = linesOf(server).filter((line) => world.ofAnyStart?.test(line) !== true);
  return { code: 0, text: [`ready ${ready.status}`, same, ...lines].join('\n') };
}

/** Commands of the administrator as the user of the exchange, in one process for all. */
export class AdminHost {
  readonly #process: ChildProcess;

  readonly #settings: Readonly<Record<string, string>>;

  constructor(scope: Scope, settings: Readonly<Record<string, string>> = {}) {
    this.#settings = settings;
    const host = fileURLToPath(new URL('adminHost.ts', import.meta.url));
    this.#process = fork(host, {
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', LOADER],
      uid: NOBODY,
      gid: NOBODY,
      env: { PATH: process.env['PATH'], ...settings },
    });
    scope.after(() => void this.#process.kill());
  }

  async run(directory: string, ...args: string[]): Promise<Seen> {
    this.#process.send({ args, env: { ...this.#settings, DATA_DIR: directory } });
    const [seen] = await within(`the answer to ${args.join(' ')}`, once(this.#process, 'message'));
    return seen;
  }
}

/** Every file, by its SHA-256. */
export function hashesOf(directory: string): Map<string, string> {
  const names = readdirSync(directory, { recursive: true }) as string[];
  const files = names.filter((name) => statSync(join(directory, name)).isFile() && !name.endsWith('-shm')).sort();
  return new Map(files.map((name) => [name, hashOf(join(directory, name))]));
}

function hashOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

export function removeCopy(directory: string): void {
  rmSync(join(directory, '..'), { recursive: true, force: true });
}
