/**
 * `backup`, `backups` and `restore` beside a real server: the contents of a point, the restored state, and refusals.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { OrderMarket } from '../../shared/client/order.ts';
import { runAdminHere } from '../support/adminProgram.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { fileScope } from '../support/fileScope.ts';
import { startServer, TestServer } from '../support/server.ts';
import { SmallDisk } from '../support/smallDisk.ts';
import { makeMarket, makeTrader, type Trader } from '../support/traders.ts';

const server = await startServer(fileScope);
const folder = temporaryDirectory();
const target = join(folder, 'backups');

function admin(...args: string[]): ReturnType<typeof runAdminHere> {
  return runAdminHere(args, { DATA_DIR: server.dataDir });
}

async function succeeds(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await admin(...args);
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

async function fails(status: number, message: RegExp, ...args: string[]): Promise<void> {
  const ran = await admin(...args);
  assert.equal(ran.status, status, ran.stdout + ran.stderr);
  assert.match(ran.stdout + ran.stderr, message);
}

/** @returns the name of the point. */
async function backUp(...options: string[]): Promise<string> {
  const [, name] = /^point (\S+):/m.exec(await succeeds('backup', target, '--rate', '0', ...options))!;
  return name!;
}

function contentOf(point: string) {
  return JSON.parse(readFileSync(join(target, 'points', `${point}.json`), 'utf8').split('\n')[0]!);
}

/** The prices of the orders in the journals of a directory. */
async function pricesIn(directory: string): Promise<string[]> {
  const lines = (await succeeds('journal', 'export', '--data', directory)).trimEnd().split('\n');
  const events = lines.map((line) => JSON.parse(line));
  return events.filter(({ event }) => event === 'order').map(({ price }) => String(Number(price)));
}

/** Returns a moment after the millisecond in which the last change may have been recorded. */
function nextMoment(): string {
  const startMs = Date.now();
  while (Date.now() < startMs + 2);
  return new Date().toISOString();
}

describe('backup and restore', () => {
  let market: OrderMarket;
  let trader: Trader;
  before(async () => {
    market = await makeMarket(server);
    trader = await makeTrader(server);
    await trader.place(market, { price: '0.11', size: '3' });
  });

  it('a point holds everything acknowledged before it, and the next point only stores what is new', async () => {
    const first = await backUp();
    await trader.place(market, { price: '0.12', size: '3' });
    const text = await succeeds('backup', target, '--rate', '0');
    const [, all, news] = /: ([\d.]+) MB read in \d+ s, ([\d.]+) MB of it new/.exec(text)!;
    assert.ok(Number(news) <= Number(all), text);
    assert.match(text, /^shard 1: up to record \d+, of 2/m);
    const listed = await succeeds('backups', 'list', target);
    assert.match(listed, new RegExp(`^${first} .* running$`, 'm'));
    assert.match(await succeeds('backups', 'verify', target), /\nok\n$/);
    const restored = join(folder, 'newest');
    assert.match(await succeeds('restore', target, '--data', restored), /\nbalanced\n/);
    assert.deepEqual(await pricesIn(restored), ['0.11', '0.12']);
    for (const name of [
      'control.db',
      'read.db',
      'idempotency.db',
      'journal.key',
      'master.key',
      'audit.log',
      'private',
    ]) {
      assert.ok(existsSync(join(restored, name)), name);
    }
    assert.deepEqual(
      readdirSync(server.dataDir).filter((name) => /backing-up|\.new$/.test(name)),
      [],
    );
  });

  it('a drill restores, replays and audits the newest point, leaves nothing, and is noted', async () => {
    assert.match(await succeeds('backups', 'drill', target), /balanced\nrestored, replayed and audited in \d+ s\n$/);
    assert.equal(existsSync(join(target, 'restored')), false);
    const { backedUpMs, restoredMs } = JSON.parse(readFileSync(join(server.dataDir, 'backup.json'), 'utf8'));
    assert.ok(restoredMs > backedUpMs);
  });

  it('read.db may be left out, and the point says so', async () => {
    const name = await backUp('--leave-out', 'read.db');
    const restored = join(folder, 'leftOut');
    await succeeds('restore', target, '--data', restored, '--point', name);
    assert.equal(existsSync(join(restored, 'read.db')), false);
    assert.match(readFileSync(join(target, 'points', `${name}.json`), 'utf8'), /"leftOut":\["read.db"\]/);
  });

  it('restores to the last record before a time, for as long as trading is all that happened', async () => {
    const point = await backUp();
    await trader.place(market, { price: '0.21', size: '3' });
    const between = nextMoment();
    await trader.place(market, { price: '0.22', size: '3' });
    const beforeDeposit = nextMoment();
    const later = await makeTrader(server);
    await later.place(market, { price: '0.23', size: '3' });
    const end = nextMoment();
    await backUp();
    const restored = async (to: string): Promise<{ text: string; prices: string[] }> => {
      const place = join(folder, `to-${to.replaceAll(':', '')}`);
      const text = await succeeds('restore', target, '--data', place, '--to', to);
      assert.match(text, new RegExp(`^point ${point}$`, 'm'));
      assert.match(text, /^balanced$/m);
      return { text, prices: (await pricesIn(place)).slice(-2) };
    };
    const atFirst = await restored(between);
    assert.deepEqual(atFirst.prices, ['0.12', '0.21']);
    assert.match(atFirst.text, new RegExp(`go on to the last record before ${between}$`, 'm'));
    assert.deepEqual((await restored(beforeDeposit)).prices, ['0.21', '0.22']);
    const atEnd = await restored(end);
    assert.deepEqual(atEnd.prices, ['0.21', '0.22']);
    assert.match(atEnd.text, /not 2\S+: record \d+ of shard \d is an? .+, which needs a newer control.db$/m);
  });

  it('refuses impossible commands, and changes nothing', async () => {
    await fails(1, /is in the data directory/, 'backup', join(server.dataDir, 'backups'));
    await fails(1, /only read\.db can be made anew/, 'backup', target, '--leave-out', 'control.db');
    await fails(64, /--rate: expected a number/, 'backup', target, '--rate', 'fast');
    await fails(64, /backup needs one folder/, 'backup');
    await fails(64, /backup needs one folder/, 'backup', target, folder);
    await fails(64, /unknown command: backups what/, 'backups', 'what');
    await fails(64, /--to: not a time/, 'restore', target, '--to', 'yesterday', '--data', join(folder, 'x'));
    await fails(1, /after that time/, 'restore', target, '--to', '2020-01-01T00:00:00Z', '--data', join(folder, 'x'));
    await fails(1, /has no point/, 'restore', target, '--point', 'x', '--data', join(folder, 'x'));
    await fails(1, /is not empty/, 'restore', target, '--data', server.dataDir);
    await fails(1, /holds no backups/, 'restore', folder, '--data', join(folder, 'x'));
    const foreign = join(folder, 'foreign');
    mkdirSync(foreign);
    writeFileSync(join(foreign, 'notes.txt'), 'mine');
    await fails(1, /holds other files/, 'backup', foreign);
    assert.equal(existsSync(join(folder, 'x')), false);
    const { failedMs } = JSON.parse(readFileSync(join(server.dataDir, 'backup.json'), 'utf8'));
    assert.equal(typeof failedMs, 'number');
  });

  it('leaves an exchange that was started in its directory meanwhile, and what another restore has made', async () => {
    await backUp();
    const [place, restoring] = [join(folder, 'meanwhile'), join(folder, 'meanwhile.restoring')];
    mkdirSync(place);
    const startMeanwhile = (text: string): void => {
      if (text.includes('files are written')) writeFileSync(join(place, 'control.db'), 'of an exchange');
    };
    const ran = await runAdminHere(['restore', target, '--data', place], { DATA_DIR: server.dataDir }, startMeanwhile);
    assert.equal(ran.status, 1, ran.stdout + ran.stderr);
    assert.match(ran.stderr, /meanwhile is not empty any more: .* left as it is.*meanwhile\.restoring has the/);
    assert.equal(readFileSync(join(place, 'control.db'), 'utf8'), 'of an exchange');
    assert.deepEqual(readdirSync(place), ['control.db']);
    rmSync(place, { recursive: true });
    const files = readdirSync(restoring).sort();
    assert.ok(files.includes('control.db') && files.includes('journal-0.db'), files.join());
    const text = await succeeds('restore', target, '--data', place);
    assert.match(text, /meanwhile\.restoring is of another restore; if that does not run any more, remove it/);
    assert.deepEqual(readdirSync(restoring).sort(), files);
    assert.ok(existsSync(join(place, 'journal-0.db')));
  });

  it('a damaged part is named, set aside, and written again by the next backup', async () => {
    const name = await backUp();
    const { files } = contentOf(name);
    const [part] = files.find((file: { name: string }) => file.name === 'journal.key').parts;
    const path = join(target, 'objects', part.slice(0, 2), part);
    writeFileSync(path, 'damaged');
    await fails(1, /is damaged: its hash does not match/, 'restore', target, '--data', join(folder, 'damaged'));
    assert.equal(existsSync(join(folder, 'damaged')), false);
    await fails(1, /drill|damaged/, 'backups', 'drill', target);
    await fails(1, /set aside: .+\.damaged\n/, 'backups', 'verify', target);
    await fails(1, /gone: [0-9a-f]{64}\n/, 'backups', 'verify', target);
    await backUp();
    writeFileSync(path, 'damaged again');
    await fails(1, /set aside: .+\.damaged-2\n/, 'backups', 'verify', target);
    await backUp('--prune');
    const aside = ['', '-2'].map((number) => readFileSync(`${path}.damaged${number}`, 'utf8'));
    assert.deepEqual(aside, ['damaged', 'damaged again']);
    assert.match(await succeeds('backups', 'verify', target), /\nok\n$/);
    await succeeds('backups', 'drill', target);
  });

  it('records whose part is gone are written again, for every point that names it', async () => {
    const { journals } = contentOf(await backUp());
    for (const { part } of journals[0].segments) rmSync(join(target, 'objects', part.slice(0, 2), part));
    await fails(1, /parts are damaged or gone[\s\S]*make a backup now/, 'backups', 'verify', target);
    await backUp();
    assert.match(await succeeds('backups', 'verify', target), /\nok\n$/);
  });

  it('a restore leaves out a damaged file that can be missed, where that is asked for, and no other', async () => {
    const name = await backUp();
    const { files } = contentOf(name);
    const [part] = files.find((file: { name: string }) => file.name === 'read.db').parts;
    const path = join(target, 'objects', part.slice(0, 2), part);
    const whole = readFileSync(path);
    writeFileSync(path, 'damaged');
    const into = ['--data', join(folder, 'without-past')];
    await fails(1, /`--leave-out read\.db` restores this one without it/, 'restore', target, ...into);
    await fails(1, /does not go on without control\.db/, 'restore', target, ...into, '--leave-out', 'control.db');
    await fails(1, /no other\.db in the point/, 'restore', target, ...into, '--leave-out', 'other.db');
    await succeeds('restore', target, ...into, '--leave-out', 'read.db');
    assert.equal(existsSync(join(folder, 'without-past', 'read.db')), false);
    writeFileSync(path, whole);
  });

  it('a damaged manifest hides no other point, and parts that it may name stay until it is removed', async () => {
    const [first, second] = [await backUp(), await backUp()];
    const path = join(target, 'points', `${first}.json`);
    writeFileSync(path, readFileSync(path, 'utf8').replace('control.db', 'kontrol.db'));
    const damage = new RegExp(`${first}\\.json is damaged: its hash does not match: .npm run admin -- backups verify`);
    await fails(1, new RegExp(`${second}[\\s\\S]*${damage.source}`), 'backups', 'list', target);
    await succeeds('restore', target, '--data', join(folder, 'beside-damage'));
    assert.match(await succeeds('backup', target), damage);
    await fails(1, new RegExp(`${second}: ok[\\s\\S]*set aside: ${path}\\.damaged;`), 'backups', 'verify', target);
    assert.match(await succeeds('backups', 'verify', target), /\nok\n$/);
    rmSync(`${path}.damaged`);
  });

  it('goes on without the exchange', async () => {
    await server.stop();
    const name = await backUp('--prune');
    assert.match(await succeeds('backups', 'list', target), new RegExp(`^${name} .* stopped$`, 'm'));
    const restored = join(folder, 'stopped');
    const text = await succeeds('restore', target, '--data', restored);
    assert.match(text, new RegExp(`^restored from the backup ${name}: what happened after 2\\S+ is gone`, 'm'));
    assert.match(text, /signed messages can be sent again.*\nkeys and sessions that were revoked since are alive/);
    assert.deepEqual((await pricesIn(restored)).slice(-1), ['0.23']);
  });

  it('a restored exchange starts paused and reports what has come back, until an operator resumes it', async (t) => {
    const back = new TestServer(join(folder, 'stopped'));
    t.after(() => back.kill());
    await back.start();
    const says = (): number => back.stdout.filter((line) => line.includes('revoked since are alive')).length;
    assert.equal(says(), 1);
    assert.equal((await back.admin.platform()).paused, true);
    const client = await makeTrader(back, { depositMicro: 1_000_000 });
    await assert.rejects(client.place(market, { price: '0.31', size: '3' }), /PAUSED|paused/i);
    await back.restart();
    assert.equal(says(), 2);
    await back.admin.resume();
    await client.reconnected().place(market, { price: '0.31', size: '3' });
    await back.restart();
    assert.equal(says(), 2);
    assert.equal((await back.admin.platform()).paused, false);
  });

  it('starts as it was left where nothing has happened since', async (t) => {
    const restored = join(folder, 'asItWas');
    await succeeds('restore', target, '--data', restored, '--as-it-was');
    const back = new TestServer(restored);
    t.after(() => back.kill());
    await back.start();
    assert.equal((await back.admin.platform()).paused, false);
  });

  it('--set-aside keeps the files of a stopped exchange, and refuses a running one', async (t) => {
    const place = join(folder, 'aside');
    await succeeds('restore', target, '--data', place, '--as-it-was');
    const back = new TestServer(place);
    t.after(() => back.kill());
    await back.start();
    await fails(1, /running/, 'restore', target, '--data', place, '--as-it-was', '--set-aside');
    await back.stop();
    writeFileSync(join(place, 'control.db'), Buffer.alloc(4096, 7));
    const text = await succeeds('restore', target, '--data', place, '--as-it-was', '--set-aside');
    const [, aside] = /^(\S+) has what was there before$/m.exec(text)!;
    assert.deepEqual(readFileSync(join(aside!, 'control.db')), Buffer.alloc(4096, 7));
    assert.ok(existsSync(join(aside!, 'journal-0.db')));
    await back.start();
    assert.equal((await back.admin.platform()).paused, false);
  });

  it('restores into a mount, which cannot be renamed', async (t) => {
    const disk = SmallDisk.mount(t, 200);
    if (disk === null) return t.skip('this process may not mount');
    mkdirSync(join(disk.path, 'lost+found'));
    await succeeds('restore', target, '--data', disk.path, '--as-it-was');
    assert.equal(existsSync(`${disk.path}.restoring`), false);
    const names = readdirSync(disk.path);
    assert.ok(
      names.includes('control.db') && names.includes('journal-0.db') && !names.includes('restoring'),
      `${names}`,
    );
    await fails(1, /is not empty: --set-aside moves/, 'restore', target, '--data', disk.path);
    const text = await succeeds('restore', target, '--data', disk.path, '--as-it-was', '--set-aside');
    assert.match(text, /left-\S+ has what was there before/);
    await succeeds('audit', '--data', disk.path);
  });

  it('leaves a mount in which an exchange was started meanwhile', async (t) => {
    const disk = SmallDisk.mount(t, 200);
    if (disk === null) return t.skip('this process may not mount');
    const startMeanwhile = (text: string): void => {
      if (text.includes('files are written')) writeFileSync(join(disk.path, 'control.db'), 'of an exchange');
    };
    const args = ['restore', target, '--data', disk.path];
    const ran = await runAdminHere(args, { DATA_DIR: server.dataDir }, startMeanwhile);
    assert.equal(ran.status, 1, ran.stdout + ran.stderr);
    assert.match(ran.stderr, /is not empty any more: .* left as it is.*restoring has the restored files.*--set-aside/);
    assert.equal(readFileSync(join(disk.path, 'control.db'), 'utf8'), 'of an exchange');
  });
});
