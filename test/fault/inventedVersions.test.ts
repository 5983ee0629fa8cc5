/**
 * A data directory and a backup of today go through two versions that come after it (test/support/inventedVersions.ts):
 * one adds a field to PLACE, one changes a rule. Nothing is lost, what is older is replayed as it was, and the way back
 * is open until a version has opened the directory (RULES.md 10.33). test/cluster/upgrade.test.ts does the same with a
 * cluster's log.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { FORMATS } from '../../shared/base/formats.ts';
import { OrderSigner } from '../../shared/client/orderSigner.ts';
import { cancelRecord, placeRecord, replaceRecord } from '../../shared/client/stream/orderRecords.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { eventually } from '../support/eventually.ts';
import { auditVersionsIn, NEXT_AUDIT, nextRecords, nextRules } from '../support/inventedVersions.ts';
import { RecordClient } from '../support/recordClient.ts';
import { type Json, ROOT, type Scope, TestServer } from '../support/server.ts';
import { Trader } from '../support/traders.ts';
import { changes, keptOf, unpacked } from '../upgrade/releases.ts';

/** The directory of test/vectors/upgrade that this version has made. */
const TODAY = '4d831fe';
const { masterKey, traders, markets, answers } = keptOf(TODAY);
const REASON = { before: 'user', after: 'heartbeat' } as const;

type Program = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

/** A program of a version. */
function run(project: string, main: string, args: readonly string[], env: NodeJS.ProcessEnv): Program {
  const sources = pathToFileURL(join(project, 'shared/base/keptSources.mjs')).href;
  const node = ['--disable-warning=ExperimentalWarning', '--import', sources, join(project, main), ...args];
  const surroundings = { PATH: process.env['PATH'], MASTER_KEY: masterKey, ...env };
  return spawnSync(process.execPath, node, { cwd: project, encoding: 'utf8', env: surroundings });
}

const admin = (project: string, ...args: string[]): Program => run(project, 'engine/admin/main.ts', args, {});

function start(project: string, directory: string, more: Record<string, string> = {}): Program {
  return run(project, 'gateway/main.ts', [], { DATA_DIR: directory, PORT: '0', DEMO: 'off', ...more });
}

/** The files that a start may not change when it is refused; SQLite's own beside them come and go. */
function hashesOf(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => /^(?:control|idempotency|journal|read|snapshot|audit).*(?<!-room|-shm|-wal)$/.test(name))
    .sort()
    .map((name) => `${name} ${hash('sha256', readFileSync(join(directory, name)))}`);
}

function assertRefused(project: string, directory: string, file = 'control.db'): void {
  const before = hashesOf(directory);
  const { status, stderr } = start(project, directory);
  assert.match(stderr, new RegExp(`^error: \\S+${file} was written by a newer version\\n$`));
  assert.equal(status, 1);
  for (const command of [['audit'], ['journal', 'verify']]) {
    const refused = admin(project, ...command, '--data', directory);
    assert.match(refused.stdout + refused.stderr, new RegExp(`${file} was written by a newer version: use that one`));
    assert.notEqual(refused.status, 0);
  }
  assert.deepEqual(hashesOf(directory), before, 'a refusal changes nothing');
}

/** Journals of a newer version in a directory that none has opened. */
function assertJournalsRefused(newer: string): void {
  const directory = unpacked(TODAY);
  for (const [from, names] of [directory, newer].map((each) => [each, readdirSync(each)] as const)) {
    for (const name of names.filter((each) => /^(?:journal-|snapshot-).*(?<!-room|-shm)$/.test(each))) {
      if (from === directory) rmSync(join(from, name));
      else if (name.startsWith('journal-')) cpSync(join(from, name), join(directory, name));
    }
  }
  assertRefused(ROOT, directory, 'journal-\\d.db');
}

/** The audit log of a newer version in a directory that none has opened. */
function assertAuditLogRefused(newer: string): void {
  const directory = unpacked(TODAY);
  cpSync(join(newer, 'audit.log'), join(directory, 'audit.log'));
  assertRefused(ROOT, directory, 'audit.log');
}

function assertWhole(project: string, directory: string): void {
  for (const [command, last] of [
    [['audit'], 'balanced'],
    [['journal', 'verify'], 'ok'],
    [['projections', 'verify'], 'ok'],
  ] as const) {
    const { status, stdout, stderr } = admin(project, ...command, '--data', directory);
    assert.deepEqual([status, stdout.trimEnd().split('\n').at(-1)], [0, last], stdout + stderr);
  }
}

/** The reasons of all cancels in the journals, each once. */
function reasonsIn(project: string, directory: string): string[] {
  const { status, stdout, stderr } = admin(project, 'journal', 'export', '--data', directory);
  assert.equal(status, 0, stderr);
  return [...new Set(stdout.matchAll(/"reason":"(\w+)"/g).map(([, reason]) => reason!))].sort();
}

/** An exchange of a version on a directory. */
class Exchange {
  readonly server: TestServer;
  readonly #scope: Scope;
  #traders: Trader[] = [];

  constructor(scope: Scope, directory: string) {
    this.#scope = scope;
    this.server = new TestServer(directory);
    scope.after(() => this.server.kill());
  }

  async start(project: string): Promise<void> {
    this.server.project = project;
    await this.server.start({ MASTER_KEY: masterKey, SNAPSHOT_EVERY: '5' });
    const domain = await new Trader(this.server, '', null as never, traders[0]!).client.signingDomain();
    this.#traders = traders.map(({ userId, privateKey, ...credentials }) => {
      return new Trader(this.server, userId, new OrderSigner(privateKey, domain), credentials);
    });
  }

  /** Its answers about its past are those of the version that made it. */
  async assertAnswers(): Promise<void> {
    for (const { who, path, body } of answers) {
      const ask = () => (who < 0 ? this.server.adminRequest('GET', path) : this.#traders[who]!.send('GET', path));
      let now: Json;
      await eventually(path, async () => {
        const answer = await ask();
        now = answer.body;
        return answer.status === 200;
      });
      assert.deepEqual(changes(body, now), [], path);
    }
  }

  /**
   * Some orders of every length, cancels, and a fill; on a socket as records of svc.bin.1, as the client of today sends
   * them (ENTRY-1).
   */
  async trade(): Promise<void> {
    const [alice, bob] = this.#traders as [Trader, Trader];
    const market = await alice.client.orderMarket(markets[1]!);
    const plain = await alice.place(market, { side: 'BUY', price: '0.02', size: '2' });
    const long = await alice.place(market, {
      side: 'BUY',
      price: '0.03',
      size: '2',
      clientOrderId: `at ${Date.now()}`,
    });
    const { headers } = alice.client.prepareSigned('GET', '/v1/ws');
    const records = await RecordClient.open(this.#scope, this.server.baseUrl, headers);
    const body = (price: string, changes: Json = {}) => alice.body(market, { price, size: '2' }, changes);
    const sent = await records.ask((id) => placeRecord(id, body('0.04')));
    const { order_hash } = sent.placed!.order;
    const named = body('0.05', { client_order_id: `as a record at ${Date.now()}` });
    const replaced = await records.ask((id) => replaceRecord(id, order_hash, named, 'CANCEL_REPLACE'));
    assert.equal(replaced.placed?.order.status, 'open', JSON.stringify(replaced));
    await records.ask((id) => cancelRecord(id, replaced.placed!.order.order_hash));
    records.socket.close();
    await alice.client.cancelOrder(plain.order_hash);
    await bob.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.97', size: '1' });
    await alice.client.cancelOrder(long.order_hash);
  }
}

test('RULES.md 10.33: a directory goes through a new field and a new rule, and back as far as promised', async (t) => {
  const [six, seven] = [nextRecords().root, nextRules().root];
  const directory = unpacked(TODAY);
  const exchange = new Exchange(t, directory);

  // A start that is refused has opened nothing: the way back is there.
  const refused = start(six, directory, { SHARDS: '3' });
  assert.match(refused.stderr, /SHARDS: this data directory was made with 2/);
  await exchange.start(ROOT);
  await exchange.assertAnswers();
  assert.equal(await exchange.server.stop(), 0);
  assert.deepEqual(auditVersionsIn(directory), [FORMATS.audit.newest]);

  await exchange.start(six);
  await exchange.assertAnswers();
  assert.equal(await exchange.server.stop(), 0);
  // On one machine a start is what ends the way back, also without a command.
  assertRefused(ROOT, directory);
  await exchange.start(six);
  await exchange.trade();
  await exchange.server.kill();
  await exchange.start(six);
  await exchange.trade();
  assert.equal(await exchange.server.stop(), 0);
  assertWhole(six, directory);
  assert.ok(!reasonsIn(six, directory).includes(REASON.after), 'the rule is not yet in force');
  assertJournalsRefused(directory);
  assert.deepEqual(auditVersionsIn(directory), [FORMATS.audit.newest, NEXT_AUDIT]);
  assertAuditLogRefused(directory);

  await exchange.start(seven);
  await exchange.trade();
  await exchange.server.kill();
  await exchange.start(seven);
  await exchange.trade();
  assert.equal(await exchange.server.stop(), 0);
  assertWhole(seven, directory);
  const reasons = reasonsIn(seven, directory);
  assert.ok(reasons.includes(REASON.before) && reasons.includes(REASON.after), `reasons ${reasons}`);
  for (const older of [ROOT, six]) assertRefused(older, directory);

  // Everything is replayed from its first record, each part by its own rules.
  for (const name of readdirSync(directory)) {
    if (/^(?:snapshot-|read\.db)/.test(name)) rmSync(join(directory, name));
  }
  await exchange.start(seven);
  await exchange.trade();
  assert.equal(await exchange.server.stop(), 0);
  assertWhole(seven, directory);
});

test('RULES.md 10.33: a backup is restored by a later version, and refused by an earlier one', async (t) => {
  const seven = nextRules().root;
  const [backups, directory] = [unpacked(TODAY, 'backups'), temporaryDirectory()];
  const restored = admin(seven, 'restore', backups, '--data', directory, '--as-it-was');
  assert.equal(restored.status, 0, restored.stdout + restored.stderr);
  const exchange = new Exchange(t, directory);
  await exchange.start(seven);
  await exchange.trade();
  const later = temporaryDirectory();
  const made = admin(seven, 'backup', later, '--data', directory);
  assert.equal(made.status, 0, made.stdout + made.stderr);
  assert.equal(await exchange.server.stop(), 0);

  const empty = temporaryDirectory();
  const tried = admin(ROOT, 'restore', later, '--data', empty);
  assert.notEqual(tried.status, 0);
  assert.match(tried.stdout + tried.stderr, /newer version|this program reads \d+ at most/);
  assert.deepEqual(
    readdirSync(empty).filter((name) => name.endsWith('.db')),
    [],
    'nothing is put in place',
  );
});
