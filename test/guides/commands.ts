/**
 * Runs programs as a person runs them one after another in one terminal: each continues in the folder and with the
 * variables that the previous one has left. Programs that keep running end with the document.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from './project.ts';

/** An `npm ci` beside other ones on a slow machine takes minutes. */
const LIMIT_MS = 480_000;
const STOP_LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 100;
/** The lines with which `npm run` begins. */
const NPM_RUN = /^\n?> [\w.-]+@\S+ \S+\n> .*\n\n?/gm;

type Ended = { readonly code: number | null; readonly stdout: string; readonly all: string };
export type Server = { readonly process: ChildProcess; readonly printed: () => string };

export class Commands {
  readonly #place: Place;
  readonly #port: number;
  readonly #names: ReadonlyMap<string, string>;
  /** A shell file beside the project: the folder and variables that the last commands left behind. */
  readonly #state: string;
  #scripts = 0;
  readonly #groups: number[] = [];
  readonly #endAll = (): void => {
    for (const group of this.#groups.splice(0)) killGroup(group, 'SIGKILL');
  };

  /** @param names of other machines in documents, and what stands for them here */
  constructor(place: Place, port: number, names: ReadonlyMap<string, string> = new Map()) {
    this.#place = place;
    this.#port = port;
    this.#names = names;
    this.#state = join(place.directory, '..', 'state');
    writeFileSync(this.#state, `cd '${place.directory}'\n`);
    process.once('exit', this.#endAll);
  }

  get directory(): string {
    return this.#place.directory;
  }

  /** Replaces port 8080 of the documents by the real one. */
  placed(text: string): string {
    let placed = text.replaceAll(/\b(127\.0\.0\.1|localhost):8080\b/g, `$1:${this.#port}`);
    for (const [name, here] of this.#names) placed = placed.replaceAll(name, here);
    return placed;
  }

  /** Runs shell commands to their end. */
  async run(text: string): Promise<Ended> {
    const { process: child, printed, stdout } = this.#start(text, true);
    const timer = setTimeout(() => killGroup(child.pid!, 'SIGKILL'), LIMIT_MS);
    const [code] = await once(child, 'close');
    clearTimeout(timer);
    return { code, stdout: this.#documented(stdout()), all: this.#documented(printed()) };
  }

  /**
   * Runs shell commands that do not end; resolves when the exchange says that it listens. Later commands know its
   * process as SERVER_PID, and all that it runs in as SERVER_GROUP.
   */
  async serve(text: string): Promise<Server | Ended> {
    const { process: child, printed, stdout } = this.#start(text, false);
    const endMs = Date.now() + LIMIT_MS;
    while (child.exitCode === null && child.signalCode === null && Date.now() < endMs) {
      if (/"msg":"listening"/.test(printed())) {
        await this.run(`SERVER_PID=${serverOf(child.pid!)} SERVER_GROUP=${child.pid}`);
        return { process: child, printed };
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    const { exitCode } = child;
    const how = exitCode === null ? `no sign of it in ${LIMIT_MS / 1000} s` : `it ended with ${exitCode}`;
    return { code: exitCode, stdout: stdout(), all: `${printed()}\n${how}` };
  }

  /** @returns whether the server said that it has stopped. */
  async stop(server: Server): Promise<boolean> {
    const { process: child } = server;
    if (child.exitCode === null && child.signalCode === null) {
      const timer = setTimeout(() => killGroup(child.pid!, 'SIGKILL'), STOP_LIMIT_MS);
      const closed = once(child.stdout!, 'close');
      killGroup(child.pid!, 'SIGTERM');
      await closed;
      clearTimeout(timer);
    }
    return /"msg":"stopped"/.test(server.printed());
  }

  end(): void {
    process.off('exit', this.#endAll);
    this.#endAll();
  }

  #start(text: string, leavesState: boolean): Server & { stdout: () => string } {
    const path = join(this.#place.directory, '..', `script-${++this.#scripts}`);
    const script = [
      `. '${this.#state}'`,
      ...(leavesState ? [`trap '{ export -p; printf "cd %q\\n" "$PWD"; } > "${this.#state}"' EXIT`] : []),
      // A variable that a block sets is there in the next one, too.
      'set -aeuo pipefail',
      this.placed(text),
    ];
    writeFileSync(path, script.join('\n'));
    const child = spawn('bash', [path], {
      cwd: this.#place.directory,
      env: this.#place.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#groups.push(child.pid!);
    let [stdout, all] = ['', ''];
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk;
      all += chunk;
    });
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      all += chunk;
    });
    return { process: child, printed: () => all, stdout: () => stdout };
  }

  #documented(text: string): string {
    let documented = text.replaceAll(`:${this.#port}`, ':8080').replaceAll(this.#place.directory, '.');
    for (const [name, here] of this.#names) documented = documented.replaceAll(here, name);
    return documented.replaceAll(NPM_RUN, '');
  }
}

/** Returns those of a block's needs that are missing: commands, Python modules, or writable folders. */
export async function missingOf(needs: readonly string[], commands: Commands): Promise<string[]> {
  const missing: string[] = [];
  for (const name of needs) {
    const [command, module] = name.split(':');
    const ofProgram = module === undefined ? `command -v ${command}` : `${command} -c 'import ${module}'`;
    const check = name.startsWith('/') ? `test -w ${name}` : ofProgram;
    if ((await commands.run(`${check} > /dev/null 2>&1`)).code !== 0) missing.push(name);
  }
  return missing;
}

/** The exchange is the last process of the group that `npm start` makes. */
function serverOf(group: number): number {
  const listed = execFileSync('ps', ['-eo', 'pid=,pgid=,args='], { encoding: 'utf8' });
  const rows = listed.split('\n').map((row) => /^ *(\d+) +(\d+) (.*)$/.exec(row));
  const found = rows.findLast((row) => Number(row?.[2]) === group && row?.[3]?.includes('gateway/main.ts'));
  return Number(found?.[1] ?? group);
}

function killGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // It has ended.
  }
}
