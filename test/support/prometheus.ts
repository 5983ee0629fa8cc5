/**
 * A real Prometheus (Debian's) with the files of data/deploy, beside a real exchange: it scrapes and evaluates every
 * second instead of every 5 and 15, an alert that waits does so for two seconds, and "an hour ago" is 20 seconds ago.
 * So a test sees the page itself, by its cause, without waiting for minutes.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { temporaryDirectory } from './directory.ts';
import { eventually } from './eventually.ts';
import { freePort } from './freePort.ts';
import { type Scope, startServer, type TestServer } from './server.ts';

const FOLDER = fileURLToPath(new URL('../../data/deploy/prometheus/', import.meta.url));
const WAIT = 'for: 2s';
const AGO = 'offset 20s';

export const NO_PROMETHEUS =
  spawnSync('prometheus', ['--version']).error !== undefined &&
  'prometheus is not installed (Debian: the package of that name)';

type Alert = { readonly labels: { readonly alertname: string; readonly severity: string }; readonly state: string };
type Target = { readonly labels: { readonly job: string }; readonly health: string; readonly lastScrape: string };
type Group = { readonly lastEvaluation: string };
type Settings = {
  /** Host and port that both jobs scrape: at each start of the exchange the same. */
  readonly target: string;
  readonly token: string;
  /** The whole way of an alert has the rules as they are, or what rings at the start comes first. */
  readonly alertmanager?: string;
};

export class Prometheus {
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly #said: string[] = [];

  static async start(scope: Scope, settings: Settings): Promise<Prometheus> {
    const [directory, port] = [temporaryDirectory(), await freePort()];
    const config = writeConfig(directory, port, settings);
    mkdirSync(join(directory, 'data'));
    const prometheus = new Prometheus(port, [
      `--config.file=${config}`,
      `--web.listen-address=127.0.0.1:${port}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
    ]);
    scope.after(() => prometheus.#end());
    await eventually(
      () => `Prometheus, which has said ${prometheus.#said.join('')}`,
      async () => (await fetch(`${prometheus.#url}/-/ready`).catch(() => null))?.ok,
    );
    return prometheus;
  }

  private constructor(port: number, args: string[]) {
    this.#url = `http://127.0.0.1:${port}`;
    this.#child = spawn('prometheus', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.on('data', (part) => this.#said.push(String(part)));
    }
  }

  /** The jobs whose target answers. */
  async jobsAnswering(): Promise<string[]> {
    const up = (await this.#targets()).filter(({ health }) => health === 'up');
    return up.map(({ labels }) => labels.job).sort();
  }

  /** Resolves once the pages that ring, or will if it stays so, are these, in the order of their names. */
  async rings(expected: readonly string[]): Promise<void> {
    await this.#until(`the pages ${expected.join()}`, (alerts) => {
      return isDeepStrictEqual(alerts.filter(isPage).map(nameOf).sort(), expected);
    });
  }

  /** The same for a ticket. Other alerts may ring at the same time: a new directory has no backup. */
  async ringsTicket(expected: string): Promise<void> {
    await this.#until(`the ticket ${expected}`, (alerts) => alerts.map(nameOf).includes(expected));
  }

  async #until(what: string, holds: (alerts: readonly Alert[]) => boolean): Promise<void> {
    let last: readonly Alert[] = [];
    await eventually(
      () => `${what}: there are ${last.map(nameOf).join()}`,
      async () => {
        last = await this.#alertsFrom(Date.now());
        return holds(last);
      },
    );
  }

  /** Alerts by samples scraped after this time, evaluated after that. */
  async #alertsFrom(fromMs: number): Promise<Alert[]> {
    const isSince = (time: string, sinceMs: number): boolean => Date.parse(time) > sinceMs;
    await eventually('two scrapes', async () => {
      const ours = (await this.#targets()).filter(({ labels }) => labels.job.startsWith('exchange'));
      return ours.length === 2 && ours.every(({ lastScrape }) => isSince(lastScrape, fromMs));
    });
    const scrapedMs = Date.now();
    await eventually('an evaluation', async () => {
      const { groups } = await this.#ask<{ groups: Group[] }>('rules');
      return groups.every(({ lastEvaluation }) => isSince(lastEvaluation, scrapedMs));
    });
    const { alerts } = await this.#ask<{ alerts: Alert[] }>('alerts');
    return alerts;
  }

  async #targets(): Promise<Target[]> {
    return (await this.#ask<{ activeTargets: Target[] }>('targets')).activeTargets;
  }

  async #ask<T>(what: string): Promise<T> {
    const { data } = (await (await fetch(`${this.#url}/api/v1/${what}`)).json()) as { data: T };
    return data;
  }

  async #end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

type Watched = {
  readonly server: TestServer;
  /** Settings for its next start. */
  readonly settings: Record<string, string>;
  readonly prometheus: Prometheus;
  /** The administrators' port. */
  readonly port: number;
};

/** An exchange whose administrators, and Prometheus, find it at the same port after each start. */
export async function watched(scope: Scope, env: Record<string, string> = {}): Promise<Watched> {
  const port = await freePort();
  const settings = { SHARDS: '1', ADMIN_PORT: String(port), ...env };
  const server = await startServer(scope, settings);
  const prometheus = await Prometheus.start(scope, { target: `127.0.0.1:${port}`, token: server.adminToken });
  await prometheus.rings([]);
  return { server, settings, prometheus, port };
}

const isPage = ({ labels }: Alert): boolean => labels.severity === 'page';
/** With `?` while its wait goes on. */
const nameOf = ({ labels, state }: Alert): string => labels.alertname + (state === 'firing' ? '' : '?');

function writeConfig(directory: string, port: number, { target, token, alertmanager }: Settings): string {
  const [config, rules, tokenFile] = ['prometheus.yml', 'rules.yml', 'token'].map((name) => join(directory, name));
  writeFileSync(tokenFile!, token);
  const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
  const isWhole = alertmanager !== undefined;
  const quick = (text: string): string => text.replaceAll(/\bfor: \w+$/gm, WAIT).replaceAll('offset 1h', AGO);
  writeFileSync(rules!, isWhole ? read('rules.yml') : quick(read('rules.yml')));
  const text = read('prometheus.yml')
    .replaceAll('exchange:8081', target)
    .replace('localhost:9090', `127.0.0.1:${port}`)
    .replace('alertmanager:9093', alertmanager ?? '127.0.0.1:1')
    .replace('/run/secrets/prometheus_token', tokenFile!)
    .replaceAll('scrape_timeout: 4s', 'scrape_timeout: 1s')
    .replace('scrape_interval: 5s', 'scrape_interval: 1s')
    .replace('evaluation_interval: 15s', 'evaluation_interval: 1s');
  writeFileSync(config!, text);
  return config!;
}
