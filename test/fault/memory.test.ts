/**
 * Memory that is never given back shows only after many turns: an exchange with nothing to do takes ten thousand of
 * them, in a minute or two.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HurriedServer } from '../support/hurriedServer.ts';

/** After this many turns rings, caches and code have their final size. */
const WARM_TURNS = 4000;
const TURNS = 10_000;
/**
 * A statement of SQLite in each turn of one shard is 40 MB, of which V8 sees too little to collect it. Without any, the
 * memory varies by up to a dozen MB, because V8 takes pages for its heaps and gives them back. Its own garbage, which
 * it collects later, is up to a few MB for each of seven threads.
 */
const MOST_LOST_MB = 30;
const MOST_WAITING_MB = 50;

test('ten thousand turns of every thread take no memory', {
  skip: process.platform !== 'linux' && 'private memory is read from /proc',
}, async (t) => {
  const hurried = await HurriedServer.start(t, { SHARDS: '2', VERIFY_THREADS: '1' });
  await hurried.turned(WARM_TURNS);
  const beforeMb = await hurried.settledMb();
  const threads = await hurried.turned(TURNS);
  const waitingMb = (await hurried.mb()) - beforeMb;
  const lostMb = (await hurried.settledMb()) - beforeMb;
  assert.deepEqual(threads, ['projector', 'shard 0', 'shard 1', 'spot checker', 'verifier 0']);
  const grown = `${beforeMb.toFixed(1)} MB before, ${waitingMb.toFixed(1)} more, ${lostMb.toFixed(1)} once collected`;
  t.diagnostic(grown);
  assert.ok(lostMb < MOST_LOST_MB, grown);
  assert.ok(waitingMb < MOST_WAITING_MB, grown);
});
