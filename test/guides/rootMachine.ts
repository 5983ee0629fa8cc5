/**
 * A machine of its own for the steps of documents that change one: Debian as it is here, under an overlay that keeps
 * every change, with a real systemd as process 1, its own processes, ports and loopback (systemd-nspawn). Root has a
 * clone of the project in its folder. Where a kernel lets no container start, the steps are skipped and say why.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/directory.ts';
import { ROOT, sourcesOf } from './project.ts';

const CLONE = '/root/open-prediction-exchange';
const STATE = '/root/.guide-state';
/** Services that the packages of Debian start when they are installed. */
const STARTED = ['caddy.service'];
/** Debian packages that documents use. */
const NEEDED = ['caddy', 'nginx', 'haproxy', 'prometheus', 'prometheus-alertmanager'];
const BOOT_LIMIT_MS = 120_000;
const LOOK_EVERY_MS = 100;
const BLOCK_LIMIT_MS = 300_000;
const TARGET = '[Unit]\nRequires=basic.target\nAfter=basic.target\nAllowIsolate=yes\n';

export class RootMachine {
  readonly #folder: string;
  readonly #container: ChildProcess;
  /** Id of its process 1, as this machine sees it. */
  #pid = 0;
  #scripts = 0;

  /** Why there is none here; null: `start` may be tried. */
  static missing(): string | null {
    if (process.geteuid?.() !== 0) return 'not root';
    for (const command of ['systemd-nspawn', 'nsenter', ...NEEDED]) {
      try {
        execFileSync('which', [command], { stdio: 'ignore' });
      } catch {
        return `not on this machine: ${command}`;
      }
    }
    return null;
  }

  /** @returns the reason where no container can be started */
  static async start(): Promise<RootMachine | string> {
    const folder = temporaryDirectory();
    const [root, layers] = [join(folder, 'root'), join(folder, 'layers')];
    for (const each of [root, layers]) mkdirSync(each);
    try {
      execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', layers]);
      for (const each of ['upper', 'work']) mkdirSync(join(layers, each));
      const options = `lowerdir=/,upperdir=${layers}/upper,workdir=${layers}/work`;
      execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', options, root]);
    } catch (error) {
      unmount(folder);
      return `no overlay can be mounted: ${(error as Error).message.split('\n')[0]}`;
    }
    makeEmpty(root);
    const machine = new RootMachine(folder);
    const problem = await machine.#boot();
    if (problem === null) return machine;
    machine.end();
    return problem;
  }

  private constructor(folder: string) {
    this.#folder = folder;
    const args = ['-D', join(folder, 'root'), '--register=no', '--keep-unit', '--boot', '--console=pipe'];
    const container = spawn('systemd-nspawn', [...args, '--private-network', 'systemd.unit=guide.target'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#container = container;
    process.once('exit', this.end);
  }

  async #boot(): Promise<string | null> {
    let [said, state] = ['', ''];
    this.#container.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    this.#container.stdout!.resume();
    const endMs = Date.now() + BOOT_LIMIT_MS;
    while (Date.now() < endMs && this.#container.exitCode === null) {
      // The first child is a helper, which ends before process 1 begins.
      this.#pid = childOf(this.#container.pid!);
      state = this.#pid === 0 ? '' : (await this.run('systemctl is-system-running')).all.trim();
      if (/^(?:running|degraded)$/.test(state)) {
        const { code, all } = await this.run(`systemctl start ${STARTED.join(' ')}`);
        return code === 0 ? null : `its services do not start: ${all}`;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    return `systemd does not start in a container: ${state} ${said.trim().split('\n').at(-1)}`;
  }

  /** Commands of root, in the folder and with the variables that the ones before have left. */
  async run(text: string): Promise<{ readonly code: number | null; readonly all: string }> {
    const path = `/root/.guide-${++this.#scripts}`;
    const state = `trap '{ export -p; printf "cd %q\\n" "$PWD"; } > ${STATE}' EXIT`;
    const script = [`[ ! -e ${STATE} ] || . ${STATE}`, state, 'set -aeuo pipefail', text].join('\n');
    writeFileSync(join(this.#folder, 'root', path), script);
    const environment = ['HOME=/root', 'LANG=C.UTF-8', `PATH=${process.env['PATH']}`, `npm_config_cache=${npmCache()}`];
    const quiet = ['npm_config_loglevel=error', 'npm_config_prefer_offline=true', 'npm_config_audit=false'];
    const rest = ['npm_config_fund=false', 'npm_config_update_notifier=false', 'bash', path];
    const inside = ['-t', String(this.#pid), '-m', '-u', '-i', '-n', '-p', '--wdns=/root', 'env', '-i'];
    const child = spawn('nsenter', [...inside, ...environment, ...quiet, ...rest], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let all = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (part: string) => {
        all += part;
      });
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), BLOCK_LIMIT_MS);
    const [code] = await once(child, 'close');
    clearTimeout(timer);
    return { code, all };
  }

  readonly end = (): void => {
    process.off('exit', this.end);
    for (const each of [this.#pid, -this.#container.pid!]) {
      try {
        if (each !== 0) process.kill(each, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    unmount(this.#folder);
  };
}

/** The first child of a process; 0 while it has none. */
function childOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
  } catch {
    return 0;
  }
}

/** Ending processes take a moment to release it. */
function unmount(folder: string): void {
  for (const each of ['root', 'layers']) {
    try {
      execFileSync('umount', ['--lazy', join(folder, each)], { stdio: 'ignore' });
    } catch {
      // It was not mounted.
    }
  }
}

/** A new machine: without anything of the exchange, and with the clone with which the documents begin. */
function makeEmpty(root: string): void {
  for (const path of [
    'etc/open-prediction-exchange',
    'opt/open-prediction-exchange',
    'var/lib/open-prediction-exchange',
  ]) {
    rmSync(join(root, path), { recursive: true, force: true });
  }
  writeFileSync(join(root, 'etc/machine-id'), 'b0000000000000000000000000000001\n');
  writeFileSync(join(root, 'etc/systemd/system/guide.target'), TARGET);
  const clone = join(root, CLONE);
  rmSync(clone, { recursive: true, force: true });
  for (const path of sourcesOf()) cpSync(join(ROOT, path), join(clone, path));
  const git = (...args: string[]): Buffer => execFileSync('git', ['-C', clone, ...args], { stdio: 'pipe' });
  git('init', '-q');
  git('add', '-A');
  git('-c', 'user.name=guide', '-c', 'user.email=guide@localhost', 'commit', '-qm', 'release');
  writeFileSync(join(root, STATE), `cd ${CLONE}\n`);
}

function npmCache(): string {
  return process.env['npm_config_cache'] ?? join(homedir(), '.npm');
}
