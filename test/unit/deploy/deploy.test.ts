/** The files of data/deploy name metrics, settings and documents that there are, and independent tools read them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { parseConfig } from '../../../gateway/base/config.ts';
import { METRICS } from '../../../gateway/operator/metricTable.ts';
import { blocksOf } from '../../guides/blocks.ts';
import { runAdminHere } from '../../support/adminProgram.ts';
import { alertRules, RULE_TESTS } from '../../support/alertRules.ts';
import { temporaryDirectory } from '../../support/directory.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DEPLOY = join(ROOT, 'data/deploy');
const read = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8');

/** False where the tool is there; where it is not, the sentence with which a test is skipped. */
function without(tool: string, debianPackage: string): string | false {
  const isThere = spawnSync(tool, ['--version']).error === undefined;
  return isThere ? false : `${tool} is not installed (Debian: the package ${debianPackage})`;
}

function succeeds(command: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', ...options });
  assert.equal(status, 0, stdout + stderr);
  return stdout + stderr;
}

const rules = read('prometheus/rules.yml');
const dashboard = JSON.parse(read('grafana/dashboards/exchange.json'));

type Query = { where: string; text: string };
/** Every expression of the alerts and of the dashboard. */
const queries: Query[] = [
  ...alertRules().map(({ name, expr }) => ({ where: `alert ${name}`, text: expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }: { title: string; targets?: { expr: string }[] }) =>
    targets.map(({ expr }) => ({ where: `panel ${title}`, text: expr })),
  ),
  ...dashboard.annotations.list.map(({ name, expr }: { name: string; expr: string }) => ({ where: name, text: expr })),
];

/** The series of every metric by their names, with their labels. */
const series = new Map<string, readonly string[]>([['up', []]]);
for (const [name, { type, labels }] of Object.entries(METRICS)) {
  if (type !== 'histogram') series.set(name, labels);
  else {
    series.set(`${name}_bucket`, [...labels, 'le']);
    for (const end of ['sum', 'count']) series.set(`${name}_${end}`, labels);
  }
}
/** Prometheus adds these. */
const OF_THE_TARGET = ['job', 'instance'];

/** Commands that only look: a drill of these alone does not bring the page's cause about. */
const LOOKS = /^(?:npx pmx admin (?:metrics|money|trades failed)|metrics\b|curl |grep |until |date\b|rm |…)/;
/** Nothing on a laptop makes orders slow without making everything slow. */
const ONLY_LOOKED_AT = 'orders are slow';

/** True if the guides run a command of the drill that does something, or commands of a document that it refers to. */
function isPractised(drill: string): boolean {
  const [own, ...linked] = [drill, ...linkedIn(drill)].map((text) =>
    blocksOf(text).filter(({ marks }) => marks.run && marks.norun === null),
  );
  const acts = own!.some(({ language, marks, text }) => {
    if (marks.server || language === 'js') return true;
    const lines = text.split('\n').filter((line) => language !== 'console' || line.startsWith('$ '));
    return lines.some((line) => !LOOKS.test(line.replace(/^\$ /, '')));
  });
  return (
    acts ||
    (own!.length === 0 && linked.some((blocks) => blocks.length > 0)) ||
    drill.toLowerCase().startsWith(`## ${ONLY_LOOKED_AT}\n`)
  );
}

function linkedIn(drill: string): string[] {
  return [...drill.matchAll(/\]\((\w+\.md)/g)].map(([, name]) => readFileSync(join(ROOT, 'data/docs', name!), 'utf8'));
}

/** The pages that a drill is for: its heading has them, or words in italics where documents go through several. */
function pagesIn(drill: string): string {
  const [heading] = drill.split('\n', 1);
  const inText = [...drill.matchAll(/(?<!\*)\*(?!\*)([^*]+)\*/g)].map(([, words]) => words!.replaceAll(/\s+/g, ' '));
  const isOfDocuments = !/^```\w+ run/m.test(drill);
  return [heading, ...(isOfDocuments ? inText : [])].join('\n').toLowerCase();
}

describe('alerts and dashboard', () => {
  test('name metrics and labels that the exchange has', () => {
    assert.ok(queries.length > 60, `${queries.length} expressions`);
    const wrong = queries.flatMap(({ where, text }) => complaintsAbout(text).map((what) => `${where}: ${what}`));
    assert.deepEqual(wrong, []);
  });

  test('are noticed when they do not', () => {
    assert.deepEqual(complaintsAbout('rate(exchange_order_total[5m])'), ['no metric exchange_order_total']);
    assert.deepEqual(complaintsAbout('sum by (le) (rate(exchange_commit_seconds[5m]))').length, 2);
    assert.deepEqual(complaintsAbout('exchange_open_orders{market="x"}'), ['no label market']);
    assert.deepEqual(complaintsAbout('sum by (shard) (exchange_ready)'), ['no label shard']);
  });

  test('have a section of the guide for each alert, and a test', () => {
    const guide = readFileSync(join(ROOT, 'data/docs/incidents.md'), 'utf8');
    const headings = [...guide.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      title!.toLowerCase().replace(/[^\w -]/g, ''),
    );
    const tests = RULE_TESTS.map((name) => read(`prometheus/${name}`)).join();
    for (const [, name, anchor] of rules.matchAll(/- alert: (\w+)[\s\S]*?runbook: incidents\.md#([\w-]+)/g)) {
      assert.ok(headings.includes(anchor!.replaceAll('-', ' ')), `${name}: ${anchor}`);
      assert.ok(tests.includes(`alertname: ${name}\n`), `${name} is tested`);
    }
    assert.equal([...rules.matchAll(/- alert: /g)].length, [...rules.matchAll(/runbook: /g)].length);
  });

  test('have a drill for each page, which brings its cause about', () => {
    const pages = [...rules.matchAll(/severity: page[\s\S]*?runbook: incidents\.md#([\w-]+)/g)].map(([, anchor]) =>
      anchor!.replaceAll('-', ' '),
    );
    assert.ok(pages.length > 20, `${pages.length} alerts are pages`);
    const drills = readFileSync(join(ROOT, 'data/docs/drills.md'), 'utf8').split(/^(?=## )/m);
    const names = drills.filter(isPractised).map(pagesIn).join('\n');
    const missing = new Set(pages.filter((page) => !names.includes(page)));
    assert.deepEqual([...missing], []);
  });

  // They fire when they should: alertRules.test.ts.
  test('are what promtool expects', { skip: without('promtool', 'prometheus') }, () => {
    const cwd = join(DEPLOY, 'prometheus');
    succeeds('promtool', ['check', 'rules', 'rules.yml'], { cwd });
    succeeds('promtool', ['check', 'config', '--syntax-only', 'prometheus.yml'], { cwd });
  });
});

/** Names of metrics differ from those of labels and functions by their first word. */
function complaintsAbout(text: string): string[] {
  const names = [...text.matchAll(/\b(?:up|(?:exchange|process|nodejs)_\w+)\b/g)].map(([name]) => name);
  const unknown = names.filter((name) => !series.has(name)).map((name) => `no metric ${name}`);
  const labels = [
    ...[...text.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label!),
    ...[...text.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/)),
  ];
  const known = new Set([...OF_THE_TARGET, ...names.flatMap((name) => series.get(name) ?? [])]);
  return [...unknown, ...[...new Set(labels)].filter((label) => !known.has(label)).map((label) => `no label ${label}`)];
}

describe('settings in data/deploy', () => {
  const settings = [...readFileSync(join(ROOT, '.env.example'), 'utf8').matchAll(/^#([A-Z_]+)=/gm)].map(
    ([, name]) => name,
  );
  const known = new Set([...settings, 'NODE_ENV']);
  const unknown = (names: string[]) => names.filter((name) => !known.has(name));

  test('of the image, the unit and the environment file are settings of the exchange', () => {
    const given = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!);
    const ofImage = given(/^ENV (.*)$/m.exec(read('Dockerfile'))![1]!, /(\w+)=/g);
    const ofUnit = [...read('open-prediction-exchange.service').matchAll(/^Environment=(.*)$/gm)].flatMap(([, list]) =>
      given(list!, /(\w+)=/g),
    );
    const ofFile = given(read('exchange.env'), /^(\w+)=/gm);
    for (const names of [ofImage, ofUnit, ofFile]) assert.ok(names.length > 1);
    assert.deepEqual(unknown([...ofImage, ...ofUnit, ...ofFile]), []);
  });

  test('of the exchange in the compose file are settings of the exchange', () => {
    const [, block] = /exchange:[\s\S]*?environment:\n((?: {6}\w+:.*\n)+)/.exec(read('compose.yaml'))!;
    const names = [...block!.matchAll(/^ +(\w+):/gm)].map(([, name]) => name!);
    assert.ok(names.includes('TRUST_PROXY'));
    assert.deepEqual(unknown(names), []);
  });
});

describe('the units of backups', () => {
  const skip = without('systemd-analyze', 'systemd');
  const directory = temporaryDirectory();
  const units = ['backup', 'drill'].map((name) => `open-prediction-exchange-${name}`);
  const files = units.flatMap((name) => [`${name}.service`, `${name}.timer`]).map((name) => join(directory, name));
  for (const file of files) {
    writeFileSync(file, read(basename(file)).replaceAll(/^(Exec\w+=)\/opt\S+/gm, `$1${process.execPath}`));
  }

  test('are understood whole, and give the processes little', { skip }, () => {
    assert.equal(succeeds('systemd-analyze', ['verify', ...files]), '');
    for (const file of files.filter((name) => name.endsWith('.service'))) {
      succeeds('systemd-analyze', ['security', '--offline=yes', '--threshold=20', file]);
    }
  });

  test('run commands that there are, in folders that they may write', async () => {
    for (const name of units) {
      const text = read(`${name}.service`);
      const [, folder] = /^ReadWritePaths=(\S+)$/m.exec(text)!;
      const [, args] = /engine\/admin\/main\.ts (.+)$/m.exec(text)!;
      assert.ok(args!.split(' ').includes(folder!), args);
      const data = temporaryDirectory();
      const { status, stderr } = await runAdminHere([...args!.replace(folder!, join(data, 'backups')).split(' ')], {
        DATA_DIR: join(data, 'live'),
      });
      // The command line is understood: only the directory is missing.
      assert.deepEqual([status, /^error: (?!unknown)/.test(stderr)], [1, true], stderr);
    }
  });
});

describe('the unit of systemd', () => {
  const skip = without('systemd-analyze', 'systemd');
  // Checked with a program that is here in place of the installed one.
  const directory = temporaryDirectory();
  const unit = join(directory, 'open-prediction-exchange.service');
  const text = read('open-prediction-exchange.service');
  writeFileSync(unit, text.replaceAll(/^(Exec\w+=)\/opt\S+/gm, `$1${process.execPath}`));

  test('is understood whole', { skip }, () => {
    assert.equal(succeeds('systemd-analyze', ['verify', unit]), '');
  });

  test('gives the process little', { skip }, () => {
    succeeds('systemd-analyze', ['security', '--offline=yes', '--threshold=20', unit]);
  });

  test('does not restart an exchange that was refused for its settings', () => {
    const [, code] = /EXIT_CONFIG = (\d+)/.exec(readFileSync(join(ROOT, 'gateway/base/config.ts'), 'utf8'))!;
    assert.match(text, new RegExp(`^RestartPreventExitStatus=${code}$`, 'm'));
  });
});

test('Caddy accepts its file', { skip: without('caddy', 'caddy') }, () => {
  const env = { ...process.env, HOME: temporaryDirectory(), DOMAIN: 'localhost' };
  succeeds('caddy', ['validate', '--adapter', 'caddyfile', '--config', join(DEPLOY, 'Caddyfile')], { env });
});

test('the image is built from files that there are', () => {
  const dockerfile = read('Dockerfile');
  for (const [, program] of dockerfile.matchAll(/"((?:\.\/)?(?:gateway|shared)\/[\w/.]+)"/g))
    readFileSync(join(ROOT, program!));
  const kept = [...read('Dockerfile.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, name]) => name);
  for (const name of ['engine', 'gateway', 'shared', 'data', 'package-lock.json', '.npmrc'])
    assert.ok(kept.includes(name));
});

test('Alertmanager is not started where its configuration cannot be written', () => {
  const env = { PATH: process.env['PATH'], ALERT_WEBHOOK_URL: 'http://127.0.0.1:1/', ALERTMANAGER: 'true' };
  const config = join(temporaryDirectory(), 'missing', 'alertmanager.yml');
  const args = [join(DEPLOY, 'alertmanager/start.sh')];
  const { status, stderr } = spawnSync('sh', args, { encoding: 'utf8', env: { ...env, ALERTMANAGER_CONFIG: config } });
  assert.equal(status, 78, stderr);
  assert.match(stderr, new RegExp(`^error: cannot write ${config}$`, 'm'));
});

describe('the compose file', () => {
  test('gives no address away by itself that a service asks for', () => {
    const compose = read('compose.yaml');
    const asked = [...compose.matchAll(/ipv4_address: 172\.30\.80\.(\d+)/g)].map(([, last]) => Number(last));
    const [, from, bits] = /subnet: 172\.30\.80\.0\/24, ip_range: 172\.30\.80\.(\d+)\/(\d+)/.exec(compose)!;
    const size = 2 ** (32 - Number(bits));
    assert.deepEqual(asked, [2]);
    for (const last of asked) assert.ok(last < Number(from) || last >= Number(from) + size, `172.30.80.${last}`);
  });

  test('has Prometheus scrape the port that answers while a start goes on, where it can reach it', () => {
    const { ADMIN_HOST, ADMIN_PORT, TRUST_PROXY } = parse(read('compose.yaml')).services.exchange.environment;
    const image = { NODE_ENV: 'production', HOST: '0.0.0.0', MASTER_KEY: 'ab'.repeat(32) };
    const { adminDoor } = parseConfig({ ...image, TRUST_PROXY, ADMIN_HOST, ADMIN_PORT: String(ADMIN_PORT) }, 2);
    assert.deepEqual(adminDoor, { host: '0.0.0.0', port: 8081, tls: null });
    const targets = [...read('prometheus/prometheus.yml').matchAll(/^ +- targets: \["(exchange:\d+)"\]$/gm)];
    assert.deepEqual(
      targets.map(([, target]) => target),
      [`exchange:${adminDoor!.port}`, `exchange:${adminDoor!.port}`],
    );
  });

  test('publishes nothing over IPv6, whose clients would all come from one address', () => {
    const services = Object.values(parse(read('compose.yaml')).services) as { ports?: string[] }[];
    const published = services.flatMap(({ ports = [] }) => ports);
    assert.ok(published.length >= 5, published.join());
    assert.deepEqual(
      published.filter((port) => !/^(?:0\.0\.0\.0|127\.0\.0\.1):\d+:\d+(?:\/udp)?$/.test(port)),
      [],
    );
  });

  test('is one for the Compose of Debian 12 as well', { skip: without('docker-compose', 'docker-compose') }, () => {
    const env = { PATH: process.env['PATH'], MASTER_KEY: 'k', DOMAIN: 'exchange.example.org' };
    const read = succeeds('docker-compose', ['-f', join(DEPLOY, 'compose.yaml'), 'config'], { env });
    for (const service of ['exchange', 'caddy', 'prometheus', 'alertmanager', 'grafana']) {
      assert.match(read, new RegExp(`^  ${service}:`, 'm'));
    }
  });
});
