/** Connections to the servers of the log, and the choice among them, with servers that do what the test says. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Connection, Servers } from '../../../../engine/replication/connection.ts';
import { PostgresLog } from '../../../../engine/replication/postgresLog.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualTiming, promisesKept } from '../../../support/manualTiming.ts';
import { ScriptedPostgres } from '../../../support/scriptedPostgres.ts';

const SECRET = 'not-for-logs';
const STEP_MS = 100;
const STRICT = { isUnreplicatedAllowed: false, isUnsyncedAllowed: false };

type World = {
  readonly servers: Servers;
  readonly timing: ManualTiming;
  readonly postgres: readonly ScriptedPostgres[];
};

async function start(t: TestContext, count: number): Promise<World> {
  const postgres: ScriptedPostgres[] = [];
  while (postgres.length < count) postgres.push(await ScriptedPostgres.start(t));
  const timing = new ManualTiming();
  return { servers: new Servers(urlOf(postgres), STRICT, timing), timing, postgres };
}

function urlOf(postgres: readonly ScriptedPostgres[]): string {
  return `postgres://exchange:${SECRET}@${postgres.map(({ host }) => host).join(',')}/log`;
}

/** Connects without that any time passes: every server answers, or refuses. */
function connect({ servers }: World): Promise<Connection> {
  return servers.connect('write');
}

/** Time passes, by steps, until the promise is settled. */
async function within<T>({ timing }: World, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  promise.then(settle, settle);
  await eventually('what time brings', async () => {
    if (!isSettled) timing.advance(STEP_MS);
    return isSettled;
  });
  return promise;
}

function seen(what: string, look: () => boolean): Promise<true> {
  return eventually(what, async () => look() && true);
}

test('the server that can be written is used, and another one once that is promoted', async (t) => {
  const world = await start(t, 2);
  const [one, two] = world.postgres as [ScriptedPostgres, ScriptedPostgres];
  one.isStandby = true;
  const first = await connect(world);
  assert.deepEqual([first.server, first.timeline, first.pid], [two.host, 1, 4711]);
  Object.assign(one, { isStandby: false, timeline: 2 });
  Object.assign(two, { isStandby: true });
  two.cut();
  await seen('the end of a connection whose server is gone', () => first.isGone);
  const second = await connect(world);
  assert.deepEqual([second.server, second.timeline], [one.host, 2]);
  await second.close();
  await seen('no connection that nobody uses', () => one.connections + two.connections === 0);
});

test('of two that can be written the one of the newer timeline is used, whichever answers first', async (t) => {
  for (const newer of [0, 1]) {
    const world = await start(t, 2);
    const held = world.postgres[newer]!;
    held.timeline = 7;
    held.hang('facts');
    const connecting = world.servers.connect('write');
    await seen('the answer of the older', () => world.postgres[1 - newer]!.asked === 1);
    held.goOn();
    const connection = await connecting;
    assert.deepEqual([connection.server, connection.timeline], [held.host, 7]);
    await seen('one connection', () => world.postgres[1 - newer]!.connections === 0);
    connection.destroy();
  }
});

test('SERVERS-1: an abandoned primary is not used again, although no other one answers', async (t) => {
  const world = await start(t, 2);
  const [abandoned, newer] = world.postgres as [ScriptedPostgres, ScriptedPostgres];
  newer.timeline = 2;
  (await connect(world)).destroy();
  newer.isRefusing = true;
  await assert.rejects(connect(world), { message: `SERVERS-1: ${abandoned.host} is an abandoned primary` });
  newer.isRefusing = false;
  const again = await connect(world);
  assert.equal(again.server, newer.host);
  again.destroy();
  await seen('no connection to it', () => abandoned.connections === 0);
});

test('an abandoned primary that answers at once takes nothing of the time of the newer one', async (t) => {
  const world = await start(t, 2);
  const [abandoned, newer] = world.postgres as [ScriptedPostgres, ScriptedPostgres];
  newer.timeline = 2;
  (await connect(world)).destroy();
  newer.hang('facts');
  const { asked } = abandoned;
  const connecting = world.servers.connect('write');
  await seen('its answer', () => abandoned.asked > asked);
  for (let turn = 0; turn < 100; turn++) await promisesKept();
  world.timing.advance(1000);
  await promisesKept();
  newer.goOn();
  const connection = await connecting;
  assert.equal(connection.server, newer.host);
  connection.destroy();
});

for (const place of ['handshake', 'facts'] as const) {
  test(`a server that hangs in the ${place} is given up, and another one does not wait for it`, async (t) => {
    const alone = await start(t, 1);
    alone.postgres[0]!.hang(place);
    const { host } = alone.postgres[0]!;
    await assert.rejects(within(alone, connect(alone)), { message: `${host}: no answer within 1.5 s` });
    await seen('no connection to it', () => alone.postgres[0]!.connections === 0);
    alone.postgres[0]!.goOn();
    (await connect(alone)).destroy();

    const world = await start(t, 2);
    world.postgres[0]!.hang(place);
    const connecting = world.servers.connect('write');
    await seen('the answer of the other', () => world.postgres[1]!.asked === 1);
    const connection = await within(world, connecting);
    assert.equal(connection.server, world.postgres[1]!.host);
    assert.ok(world.timing.nowMs() < 1000);
    // It answers after nothing waits any more.
    world.postgres[0]!.goOn();
    await seen('one connection', () => world.postgres[0]!.connections === 0);
    assert.equal(connection.isGone, false);
    connection.destroy();
  });

  test(`a server that ends the connection in the ${place} is named, and nothing secret with it`, async (t) => {
    const world = await start(t, 2);
    const [closing, refusing] = world.postgres as [ScriptedPostgres, ScriptedPostgres];
    closing.closesAt = place;
    refusing.isRefusing = true;
    await assert.rejects(connect(world), ({ message }: Error) => {
      assert.match(message, new RegExp(`${closing.host}: .*; |; ${closing.host}: `));
      assert.match(message, new RegExp(`${refusing.host}: .*ECONNRESET`));
      assert.ok(!message.includes(SECRET));
      return true;
    });
  });
}

test('a server that keeps a row on one machine is not written, and may be read', async (t) => {
  const world = await start(t, 1);
  const [postgres] = world.postgres as [ScriptedPostgres];
  postgres.standbys = '';
  await assert.rejects(connect(world), /synchronous_standby_names is empty/);
  postgres.standbys = 'ANY 1 (s1)';
  postgres.commit = 'local';
  await assert.rejects(connect(world), /synchronous_commit is local and cannot be set to on/);
  (await world.servers.connect('read')).destroy();
  const trying = new Servers(urlOf(world.postgres), { ...STRICT, isUnreplicatedAllowed: true }, world.timing);
  (await trying.connect('write')).destroy();
});

test('SERVERS-4: a server that does not sync what it commits is not written, unless that is allowed', async (t) => {
  const world = await start(t, 1);
  const [postgres] = world.postgres as [ScriptedPostgres];
  const trying = new Servers(urlOf(world.postgres), { ...STRICT, isUnsyncedAllowed: true }, world.timing);
  for (const [setting, refusal] of [
    ['fsync', /: fsync is off: what it has committed may be lost with its machine$/],
    ['fullPages', /: full_page_writes is off: its tables may be torn by a power cut$/],
  ] as const) {
    postgres[setting] = 'off';
    await assert.rejects(connect(world), refusal);
    (await world.servers.connect('read')).destroy();
    (await trying.connect('write')).destroy();
    postgres[setting] = 'on';
  }
  (await connect(world)).destroy();
});

test('SERVERS-5: a server that is read-only is not written, whatever the others say, and may be read', async (t) => {
  const world = await start(t, 2);
  const [standby, postgres] = world.postgres as [ScriptedPostgres, ScriptedPostgres];
  standby.isStandby = true;
  postgres.readOnly = 'on';
  const message = `${postgres.host} takes no rows: it is read-only (default_transaction_read_only)`;
  await assert.rejects(connect(world), { name: 'TakesNoRowsError', message });
  const reading = await world.servers.connect('read');
  assert.equal(reading.isReadOnly, true);
  postgres.readOnly = 'off';
  const writing = await connect(world);
  postgres.answer = () => ({ error: 'cannot execute INSERT in a read-only transaction', code: '25006' });
  for (const connection of [reading, writing]) {
    await assert.rejects(connection.run({ name: 'one', text: 'one' }), { name: 'TakesNoRowsError', message });
  }
  assert.deepEqual([reading.isGone, writing.isGone], [false, true]);
  reading.destroy();
});

test('SERVERS-2: a warning is of its own statement, whatever is underway beside it', async (t) => {
  const world = await start(t, 1);
  const [postgres] = world.postgres as [ScriptedPostgres];
  postgres.answer = (name) => ({
    ...(name === 'third' ? {} : { rows: [{ name }] }),
    hasWarning: name === 'second' || name === 'fourth',
    ...(name === 'third' ? { error: 'it is refused' } : {}),
  });
  const connection = await connect(world);
  postgres.hang('statements');
  const names = ['first', 'second', 'third', 'fourth', 'fifth'];
  const running = names.map((name) => connection.run<{ name: string }>({ name, text: name }));
  const outcomes = Promise.allSettled(running);
  assert.ok(connection.oldestMs > 0);
  // All answers come in one piece.
  await seen('every statement', () => postgres.held === names.length);
  postgres.goOn();
  const found = (await outcomes).map((outcome) =>
    outcome.status === 'rejected'
      ? outcome.reason.message
      : `${outcome.value.rows[0]!.name} ${outcome.value.hasWarning}`,
  );
  assert.deepEqual(found, ['first false', 'second true', 'it is refused', 'fourth true', 'fifth false']);
  assert.equal(connection.oldestMs, 0);
  connection.destroy();
});

test('SERVERS-2: commands among statements have their own warnings, errors and numbers of rows', async (t) => {
  const world = await start(t, 1);
  const [postgres] = world.postgres as [ScriptedPostgres];
  postgres.answer = (name) => ({
    hasWarning: name === 'second',
    ...(name === 'third' ? { error: 'it is refused' } : {}),
  });
  const connection = await connect(world);
  postgres.hang('statements');
  const command = (name: string) => connection.command({ name, text: name }, ['1', [Uint8Array.of(1, 2)]]);
  const statement = connection.run({ name: 'first', text: 'first' });
  const running = [statement, ...['second', 'third', 'fourth'].map(command)];
  const outcomes = Promise.allSettled(running);
  await seen('every statement', () => postgres.held === running.length);
  postgres.goOn();
  const found = (await outcomes).map((outcome) =>
    outcome.status === 'rejected' ? outcome.reason.message : [outcome.value.count, outcome.value.hasWarning],
  );
  assert.deepEqual(found, [[0, false], [0, true], 'it is refused', [0, false]]);
  postgres.hang('statements');
  const last = command('fifth');
  await seen('the fifth', () => postgres.held === 1);
  connection.destroy();
  await assert.rejects(last);
  await assert.rejects(command('sixth'), { message: `no connection to ${postgres.host}` });
  assert.deepEqual(postgres.statements, ['first', 'second', 'third', 'fourth']);
});

test('SERVERS-3: statements whose connection is gone reject, and are sent once', async (t) => {
  const ends: Readonly<Record<string, (connection: Connection, postgres: ScriptedPostgres) => void>> = {
    'its server ends it': (_, postgres) => postgres.cut(),
    'it is given up': (connection) => connection.destroy(),
  };
  for (const [what, end] of Object.entries(ends)) {
    const world = await start(t, 1);
    const [postgres] = world.postgres as [ScriptedPostgres];
    const connection = await connect(world);
    postgres.hang('statements');
    const running = ['one', 'two'].map((name) => connection.run({ name, text: name }));
    const outcomes = Promise.allSettled(running);
    await seen('both statements', () => postgres.held === 2);
    end(connection, postgres);
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ['rejected', 'rejected'],
      what,
    );
    assert.equal(connection.isGone, true);
    assert.equal(connection.oldestMs, 0);
    await assert.rejects(connection.run({ name: 'three', text: 'three' }), {
      message: `no connection to ${postgres.host}`,
    });
    postgres.goOn();
    const next = await connect(world);
    await next.run({ name: 'four', text: 'four' });
    assert.deepEqual(postgres.statements, ['four'], `${what}: nothing is sent again`);
    next.destroy();
  }
});

test('a statement with a limit gives up its connection, and a late answer is of no use to another', async (t) => {
  const world = await start(t, 1);
  const [postgres] = world.postgres as [ScriptedPostgres];
  const connection = await connect(world);
  postgres.hang('statements');
  const behind = assert.rejects(connection.run({ name: 'behind', text: 'behind' }));
  await assert.rejects(connection.runWithin(1, { name: 'slow', text: 'slow' }));
  await behind;
  assert.equal(connection.isGone, true);
  postgres.goOn();
  const next = await connect(world);
  postgres.answer = (name) => ({ rows: [{ name }] });
  assert.deepEqual((await next.run({ name: 'mine', text: 'mine' })).rows, [{ name: 'mine' }]);
  next.destroy();
});

test('a connection closes after what is underway, and without its server when that hangs', async (t) => {
  const world = await start(t, 1);
  const [postgres] = world.postgres as [ScriptedPostgres];
  const orderly = await connect(world);
  const last = orderly.run({ name: 'last', text: 'last' });
  await orderly.close();
  assert.equal((await last).count, 0);

  for (const isIdle of [true, false]) {
    const hung = await connect(world);
    postgres.hang('statements');
    const underway = isIdle ? null : assert.rejects(hung.run({ name: 'lost', text: 'lost' }));
    await within(world, hung.close());
    await underway;
    await hung.close();
    postgres.goOn();
  }
  await seen('no connection', () => postgres.connections === 0);
});

test('a script that is underway counts as a statement that may hang', async (t) => {
  const world = await start(t, 1);
  const [postgres] = world.postgres as [ScriptedPostgres];
  const connection = await connect(world);
  postgres.hang('statements');
  const script = assert.rejects(connection.runScript('CREATE TABLE a (b int); CREATE TABLE c (d int)'));
  await seen('its age', () => connection.oldestMs > 0);
  connection.destroy();
  await script;
  assert.equal(connection.oldestMs, 0);
});

test('whether another server is newer is found out without disturbing the one in use', async (t) => {
  const world = await start(t, 2);
  const [present, other] = world.postgres as [ScriptedPostgres, ScriptedPostgres];
  other.isStandby = true;
  const connection = await connect(world);
  assert.equal(await world.servers.hasNewer(1), false);
  Object.assign(other, { isStandby: false, timeline: 2 });
  assert.equal(await world.servers.hasNewer(1), true);
  assert.equal(await world.servers.hasNewer(2), false);
  present.isRefusing = true;
  other.isRefusing = true;
  assert.equal(await world.servers.hasNewer(1), false, 'nobody is newer who does not answer');
  assert.equal(connection.isGone, false);
  connection.destroy();
});

test('a log that is closed while it connects leaves no connection open', async (t) => {
  const postgres = await ScriptedPostgres.start(t);
  postgres.answer = (name) => ({
    rows: name === 'lease' ? [{ holder: 'a', address: '', epoch: 1, expiresInMs: 0 }] : [],
  });
  const log = await PostgresLog.observe({ url: urlOf([postgres]), cluster: 'exchange' });
  postgres.cut();
  postgres.hang('facts');
  const reading = eventually('an attempt of a new connection', () =>
    log.lease().then(
      () => false,
      (error: Error) => /closed/.test(error.message),
    ),
  );
  await seen('a connection that is being made', () => postgres.held === 1);
  await log.close();
  postgres.goOn();
  await reading;
  await seen('no connection', () => postgres.connections === 0);
});

/** Two servers that grant any lease, of which the second is a standby, and a log that reads from the first. */
async function twoServers(t: TestContext) {
  const [abandoned, newer] = [await ScriptedPostgres.start(t), await ScriptedPostgres.start(t)];
  newer.isStandby = true;
  const answers: Readonly<Record<string, ReturnType<ScriptedPostgres['answer']>['rows']>> = {
    lease: [{ holder: 'b', address: '', epoch: 1, expiresInMs: 0 }],
    take: [{ epoch: 2 }],
    startLead: [{ position: 0 }],
  };
  for (const each of [abandoned, newer]) each.answer = (name) => ({ rows: answers[name] ?? [] });
  const log = await PostgresLog.observe({ url: urlOf([abandoned, newer]), cluster: 'exchange' });
  t.after(() => log.close());
  const promote = (): void => {
    Object.assign(newer, { isStandby: false, timeline: 2 });
  };
  return { abandoned, newer, log, promote };
}

test('CLUSTERLOG-6: a member that has taken the lease reads from the server that has it', async (t) => {
  const { abandoned, newer, log, promote } = await twoServers(t);
  // The connection that reads stays where it is, and the first statement that writes finds the newer server.
  promote();
  const { epoch, end } = (await log.take(false))!;
  assert.deepEqual({ epoch, end }, { epoch: 2, end: 0 });
  const before = abandoned.statements.length;
  await log.lease();
  assert.deepEqual(abandoned.statements.slice(before), [], 'nothing is read from the older one');
  assert.deepEqual(newer.statements, ['take', 'startLead', 'lease']);
});

test('CLUSTERLOG-6: a lease that was taken at an abandoned server is none', async (t) => {
  const { abandoned, newer, log, promote } = await twoServers(t);
  await log.confirm();
  // The connection that reads is given up because of a statement, and the next one is to the newer server.
  abandoned.hang('statements');
  await assert.rejects(log.lease());
  promote();
  abandoned.goOn();
  await log.lease();
  await assert.rejects(log.take(false), { message: `${abandoned.host} was replaced by ${newer.host}` });
  const { epoch, end } = (await log.take(false))!;
  assert.deepEqual({ epoch, end }, { epoch: 2, end: 0 });
  assert.deepEqual(newer.statements, ['lease', 'take', 'startLead']);
});
