/** `pmx` that goes on: the live book on terminals and pipes, streams as lines, recordings; and the process itself. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.ts';
import { Pmx } from '../support/pmx.ts';
import { sharedServer } from '../support/server.ts';
import { StreamProxy } from '../support/streamProxy.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';

const server = await sharedServer();
const reader = new Pmx({ BASE_URL: server.baseUrl });
const trader = await makeTrader(server, {});
const PROGRAM = fileURLToPath(new URL('../../shared/client/cli/pmx.mjs', import.meta.url));
const LEAVE = '\x1b[?25h\x1b[?1049l';
const ESCAPE = '\x1b\\[';
const FRAME = new RegExp(`${ESCAPE}\\?2026h${ESCAPE}H([\\s\\S]*?)${ESCAPE}J${ESCAPE}\\?2026l`, 'g');
const COLOURS = new RegExp(`${ESCAPE}3\\dm`);
const NO_SCRIPT = spawnSync('script', ['--version']).status !== 0 && 'script (util-linux) is not installed';

/** Runs a command until `stop` is called; returns its output so far. */
function running(pmx: Pmx, args: string[], size?: { columns: number; rows: number }, env = {}) {
  const stop = new AbortController();
  let text = '';
  const onOut = (part: string): void => {
    text += part;
  };
  const ended = pmx.run(args, { interrupted: stop.signal, onOut, size, env });
  const end = () => {
    stop.abort();
    return ended;
  };
  return { printed: () => text, ended, end };
}

/** The pictures of a screen as lines without colours. */
function picturesOf(text: string): string[][] {
  return [...text.matchAll(FRAME)].map(([, picture]) =>
    picture!
      .replaceAll('\x1b[K', '')
      .replace(new RegExp(`${ESCAPE}\\d+m`, 'g'), '')
      .split('\r\n'),
  );
}

test('a live book on a terminal is drawn anew as it changes, fits, and leaves the terminal as it was', async () => {
  const market = await makeMarket(server);
  await trader.place(market, { price: '0.41', size: '10' });
  let best = 41;
  for (const size of [
    { columns: 100, rows: 30 },
    { columns: 30, rows: 10 },
    { columns: 12, rows: 4 },
  ]) {
    const { printed, end } = running(reader, ['book', market.id, '--live'], size);
    await eventually('the book', async () => printed().includes('0.4'));
    // Better than all before it, so that the lowest terminal has room for it.
    const price = `0.${++best}`;
    await trader.place(market, { price, size: '7' });
    await eventually('its change', async () => picturesOf(printed()).at(-1)!.join().includes(price));
    if (size.columns > 76) {
      await trader.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.58', size: '5' });
      const trade = /\d\d:\d\d:\d\d +0\.42 +5/;
      await eventually('the trade, in terms of Yes', async () => trade.test(picturesOf(printed()).at(-1)!.join('\n')));
    }
    assert.equal((await end()).code, 0);
    assert.ok(printed().startsWith('\x1b[?1049h\x1b[?25l') && printed().endsWith(LEAVE));
    for (const picture of picturesOf(printed())) {
      assert.ok(picture.length <= size.rows);
      for (const line of picture) assert.ok(line.length <= size.columns, `${size.columns}: ${line}`);
    }
    if (size.rows > 4)
      assert.match(picturesOf(printed()).at(-1)!.join('\n'), /live, checksum verified at \d+|live, che/);
  }
});

test('colours are declined with NO_COLOR, and a dumb terminal gets none', async () => {
  const market = await makeMarket(server);
  const size = { columns: 80, rows: 24 };
  for (const [env, isColoured] of [
    [{}, true],
    [{ NO_COLOR: '1' }, false],
    [{ TERM: 'dumb' }, false],
  ] as const) {
    const { printed, end } = running(reader, ['book', market.id, '--live'], size, env);
    await eventually('a picture', async () => printed().includes('verified'));
    await end();
    assert.equal(COLOURS.test(printed()), isColoured, JSON.stringify(env));
  }
});

test('a lost connection shows as stale, and the book comes back by itself', async (t) => {
  const market = await makeMarket(server);
  const proxy = await StreamProxy.start(t, () => server.baseUrl);
  const size = { columns: 80, rows: 24 };
  const { printed, end } = running(new Pmx({ BASE_URL: proxy.baseUrl }), ['book', market.id, '--live'], size);
  await eventually('live', async () => printed().includes('checksum verified'));
  // The next connection waits until the loss was drawn.
  proxy.isHeld = true;
  proxy.cut();
  await eventually('stale', async () => printed().includes('STALE (connection)'));
  proxy.isHeld = false;
  await trader.place(market, { price: '0.33', size: '10' });
  await eventually('live again', async () => {
    const last = picturesOf(printed()).at(-1)!.join('\n');
    return last.includes('checksum verified') && last.includes('0.33');
  });
  assert.equal((await end()).code, 0);
});

test('a live book in a pipe is a line for each change, or JSON', async () => {
  const market = await makeMarket(server);
  const text = running(reader, ['book', market.id, '--live', '--outcome', 'no']);
  const json = running(reader, ['book', market.id, '--live', '--json', '--levels', '1']);
  await eventually('the book', async () => text.printed().includes('live') && json.printed().includes('live'));
  await trader.place(market, { price: '0.42', size: '10' });
  await eventually('its change', async () => text.printed().includes('0.58') && json.printed().includes('0.42'));
  assert.deepEqual([(await text.end()).code, (await json.end()).code], [0, 0]);
  assert.match(text.printed(), /^live {2}bid - {2}ask 0\.58 x 10$/m);
  const values = json
    .printed()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(values.at(-1).bids[0].price, '0.42');
  assert.ok(values.every(({ market_id }) => market_id === market.id));
});

test('an unknown market ends it with the refusal', async () => {
  const none = '00000000-0000-4000-8000-000000000000';
  for (const args of [
    ['book', none, '--live'],
    ['tail', none],
    ['book', none],
  ]) {
    assert.equal((await reader.failure(1, ...args)).error, 'market not found');
  }
});

test('tail prints the chosen events as lines of JSON, and ends after the count', async () => {
  const market = await makeMarket(server);
  const taker = await makeTrader(server, { scopes: ['stream:user', 'read:account', 'trade:orders'] });
  const own = new Pmx({
    BASE_URL: server.baseUrl,
    API_KEY: taker.credentials.keyId,
    API_SECRET: taker.credentials.secret,
    API_PASSPHRASE: taker.credentials.passphrase,
  });
  const all = running(reader, ['tail', market.id]);
  const trades = running(reader, ['tail', market.id, '--only', 'trade', '--count', '1']);
  const fills = running(own, ['tail', '--user', '--only', 'live,fill', '--count', '2']);
  await eventually('all are live', async () => all.printed().includes('"live"') && fills.printed().includes('"live"'));
  await eventually('the second has subscribed', async () => {
    await trader.place(market, { price: '0.50', size: '10' });
    await taker.place(market, { side: 'BUY', outcomeIndex: 1, price: '0.50', size: '5' });
    return trades.printed() !== '' && fills.printed().includes('fill');
  });
  const [trade, fill] = [await trades.ended, await fills.ended];
  assert.deepEqual([trade.code, fill.code], [0, 0]);
  const [line] = trade.out.trimEnd().split('\n');
  assert.deepEqual([JSON.parse(line!).type, JSON.parse(line!).frame.data.price], ['trade', '0.5']);
  const last = JSON.parse(fill.out.trimEnd().split('\n')[1]!);
  assert.deepEqual([last.type, last.frame.data.role], ['fill', 'taker']);
  for (const type of ['book', 'live', 'delta', 'trade']) {
    await eventually(type, async () => all.printed().includes(`"type":"${type}"`));
  }
  assert.equal((await all.end()).code, 0);

  const again = running(own, ['tail', '--user', '--since', '0', '--only', 'fill', '--count', '1']);
  assert.equal((await again.ended).code, 0, 'what was missed comes again');
  for (const args of [
    ['tail'],
    ['tail', market.id, market.id],
    ['tail', market.id, '--since', '1'],
    ['tail', market.id, '--only', 'all'],
  ]) {
    assert.equal((await reader.run(args)).code, 2, args.join(' '));
  }
  assert.equal((await reader.failure(4, 'tail', '--user')).code, 'NOT_SIGNED_IN');
});

test('watch prints changes of markets, tickers and candles, as lines of JSON', async () => {
  const market = await makeMarket(server);
  const changes = running(reader, ['watch', 'changes', market.id, '--count', '3']);
  const tickers = running(reader, ['watch', 'tickers', '--count', '2']);
  const candles = running(reader, [
    'watch',
    'candles',
    market.id,
    '--interval',
    '5m',
    '--outcome',
    'no',
    '--count',
    '2',
  ]);
  await eventually('the state of the market', async () => changes.printed().includes('"live"'));
  await server.admin.patchMarket(market.id, { status: 'locked' });
  const lines = ({ out }: { out: string }) =>
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  const printed = lines(await changes.ended);
  assert.deepEqual(printed.map(({ type }) => type).sort(), ['change', 'live', 'state']);
  assert.equal(printed.at(-1).frame.data.status, 'locked');
  assert.ok(lines(await tickers.ended).some(({ type, ticker }) => type === 'ticker' && ticker.trades >= 0));
  const candle = lines(await candles.ended).find(({ type }) => type === 'candle');
  assert.deepEqual([candle.frame.interval, candle.frame.outcome_index], ['5m', 1]);
  for (const args of [
    ['watch'],
    ['watch', 'books'],
    ['watch', 'candles'],
    ['watch', 'tickers', '--event', market.id],
    ['watch', 'changes', '--interval', '1m'],
    ['watch', 'candles', market.id, '--interval', '2m'],
  ]) {
    assert.equal((await reader.run(args)).code, 2, args.join(' '));
  }
});

test('a recording is written until Ctrl-C, and never over another file', async () => {
  const market = await makeMarket(server);
  const file = join(reader.home, 'day.ndjson');
  const { end } = running(reader, ['record', market.id, file]);
  await eventually('a line', async () => existsSync(file) && readFileSync(file, 'utf8').includes('"book"'));
  const { code, out } = await end();
  assert.deepEqual([code, /^\d+ lines in /.test(out)], [0, true]);
  assert.equal((await reader.run(['record', market.id, file])).code, 1);
});

test('the process: q leaves the live book of a real terminal', { skip: NO_SCRIPT }, async () => {
  const market = await makeMarket(server);
  const command = `${process.execPath} ${PROGRAM} book ${market.id} --live`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: {
      PATH: process.env['PATH'],
      HOME: reader.home,
      BASE_URL: server.baseUrl,
      TERM: 'xterm',
      DATA_DIR: reader.home,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const closed = once(child, 'close');
  await eventually('the book', async () => text.includes('checksum verified'));
  child.stdin.write('q');
  const [code] = await closed;
  assert.equal(code, 0);
  assert.ok(text.includes('\x1b[?1049h') && text.trimEnd().endsWith(LEAVE), JSON.stringify(text.slice(-80)));
});

test('the process: exit codes, a closed pipe, and an interruption', async () => {
  const env = { PATH: process.env['PATH'], HOME: reader.home, BASE_URL: server.baseUrl, DATA_DIR: reader.home };
  const run = (...args: string[]) => spawnSync(process.execPath, [PROGRAM, ...args], { env, encoding: 'utf8' });
  assert.equal(run('markets', 'list', '--limit', '1', '--json').status, 0);
  assert.deepEqual([run('balances').status, run('dance').status], [4, 2]);
  const market = await makeMarket(server);
  const child = spawn(process.execPath, [PROGRAM, 'tail', market.id], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  assert.deepEqual(await exited, [0, null], 'Ctrl-C is how a tail ends');
  const piped = spawn(process.execPath, [PROGRAM, 'reference'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  piped.stdout.destroy();
  assert.deepEqual(await once(piped, 'exit'), [0, null], 'a reader may leave');
});
