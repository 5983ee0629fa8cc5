/** A market recorded from a stream that is cut, and the recording served to a client that knows no difference. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplayServer } from '../../gateway/programs/replay/server.ts';
import type { BookEvent } from '../../shared/client/stream/bookStream.ts';
import { ExchangeStream } from '../../shared/client/stream/exchangeStream.ts';
import { parseRecording, type Recording, record } from '../../shared/client/stream/recording.ts';
import { eventually } from '../support/eventually.ts';
import type { Json, Scope } from '../support/server.ts';
import { StreamBook } from '../support/streamBook.ts';
import { StreamProxy } from '../support/streamProxy.ts';
import { StreamRig } from '../support/streamRig.ts';

const SEED = 90;
const TIMES = { firstRetryMs: 2, mostRetryMs: 20 };

async function makeRecording(scope: Scope): Promise<{ text: string; shown: Json }> {
  const rig = await StreamRig.start(scope, SEED);
  rig.run(100);
  const proxy = await StreamProxy.start(scope, () => rig.baseUrl);
  const stream = new ExchangeStream({ baseUrl: proxy.baseUrl, times: TIMES });
  scope.after(() => stream.close());
  const book = stream.openBook(rig.marketId(), { verify: 'every' });
  let text = '';
  const recording = record(book, { url: proxy.baseUrl, ticksPerUnit: 100 }, rig.clock, (line) => {
    text += line;
  });
  await book.ready();
  for (let round = 0; round < 3; round++) {
    await rig.runBatches(10, 8);
    const connections = proxy.connections;
    proxy.cut();
    rig.run(20);
    if (round === 1) rig.loseShard(20);
    await eventually('the recorder is back', async () => proxy.connections > connections);
    rig.clock.advance(1000);
    rig.run(20);
    await eventually('it is up to date', async () => book.sequence === rig.shown().sequence);
  }
  const shown = rig.shown();
  book.close();
  await recording;
  return { text, shown };
}

async function serve(
  scope: Scope,
  recording: Recording,
  speed: number,
): Promise<{ baseUrl: string; server: ReplayServer }> {
  const server = new ReplayServer(recording, speed);
  scope.after(() => server.close());
  return { baseUrl: `http://127.0.0.1:${await server.listen(0)}`, server };
}

test('a recording is the whole stream with its losses marked, and replays to the book (RULES.md 8.7)', async (t) => {
  const { text, shown } = await makeRecording(t);
  const lines: Json[] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual([lines[0].event, lines.at(-1).event], ['start', 'end']);
  assert.ok(lines.filter(({ event, cause }) => event === 'stale' && cause === 'connection').length >= 3);
  assert.equal(
    lines.filter(({ frame }) => frame?.channel === 'book').length,
    2,
    'the first, and one for the lost shard',
  );
  const recording = parseRecording(text);
  const kept = new StreamBook(recording.marketId);
  kept.follow(recording.frames.map(({ frame }) => frame).filter(({ channel }) => channel !== 'bbo'));
  kept.assertShown(shown);

  const { baseUrl, server } = await serve(t, recording, Number.POSITIVE_INFINITY);
  const stream = new ExchangeStream({ baseUrl, times: TIMES });
  t.after(() => stream.close());
  const events: BookEvent[] = [];
  const book = stream.openBook(recording.marketId, { verify: 'every', onEvent: (event) => events.push(event) });
  await eventually('the end of the recording', async () => book.sequence === shown.sequence);
  const frames = events.flatMap((event) => ('frame' in event ? [event.frame] : []));
  assert.deepEqual(
    frames,
    recording.frames.map(({ frame }) => frame),
  );
  server.beat();
  await eventually('a heartbeat agrees', async () => book.state === 'live');
});

test('a reader that comes back behind a sequence goes on there; at a speed, in the recorded time', async (t) => {
  const { text, shown } = await makeRecording(t);
  const recording = parseRecording(text);
  // Seconds of recorded time in milliseconds.
  const { baseUrl } = await serve(t, recording, 1000);
  const proxy = await StreamProxy.start(t, () => baseUrl);
  const stream = new ExchangeStream({ baseUrl: proxy.baseUrl, times: TIMES });
  t.after(() => stream.close());
  const book = stream.openBook(recording.marketId, { verify: 'every' });
  await book.ready();
  let cuts = 0;
  proxy.fate = (frame) => {
    if (cuts < 3 && frame.includes('"trade"')) {
      cuts++;
      proxy.cut();
    }
    return frame;
  };
  await eventually('the end of the recording', async () => book.sequence === shown.sequence);
  await assert.rejects(stream.openBook('01900000-0000-7000-8000-000000000000').ready(), { code: 'NOT_FOUND' });
});

test('a line cut off at the end is not there, anything else that is no line is an error', async (t) => {
  const { text } = await makeRecording(t);
  const whole = parseRecording(text).frames.length;
  const withoutEnd = text.slice(0, text.lastIndexOf('{"received_at"'));
  assert.equal(
    parseRecording(withoutEnd.slice(0, -5)).frames.length,
    whole - (/"frame".*\n$/.test(withoutEnd) ? 1 : 0),
  );
  assert.throws(() => parseRecording('{}\n'), /line 1/);
  assert.throws(() => parseRecording(text.replace('"format":1', '"format":2')), /format 2/);
  assert.throws(() => parseRecording(text.replace('\n{', '\n[')), /line 2/);
});
