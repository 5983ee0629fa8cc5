/** Logs in stretches that a node allows (shared/chain/logStretches.ts), and a node that has a quota. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHex } from 'viem';
import { LogStretches } from '../../../../shared/chain/logStretches.ts';
import { ChainNode } from '../../../../shared/chain/node.ts';
import { NodeUnreachable, RpcError } from '../../../../shared/chain/rpc.ts';

const QUERY = { address: toHex(1, { size: 20 }), topics: [] };

function rig(answer: (blocks: number) => unknown) {
  const asked: number[] = [];
  const time = { nowMs: 0 };
  const call = async (_: string, [query]: readonly unknown[]): Promise<unknown> => {
    const { fromBlock, toBlock } = query as { fromBlock: string; toBlock: string };
    asked.push(Number(toBlock) - Number(fromBlock) + 1);
    return answer(asked.at(-1)!);
  };
  const stretches = new LogStretches(new ChainNode({ call }), () => time.nowMs);
  return { asked, time, stretches, ask: (from = 0) => stretches.ask(QUERY, from, from + stretches.blocks - 1) };
}

test('a refused range of blocks is halved; after an answered one the range doubles, up to the limit', async () => {
  let most = 100;
  const { asked, ask, stretches } = rig((blocks) => {
    if (blocks > most) throw new RpcError('eth_getLogs: query exceeds max block range');
    return [];
  });
  let answered = 0;
  for (let question = 0; question < 12; question++) if ((await ask()) !== null) answered++;
  assert.deepEqual(asked, [2000, 1000, 500, 250, 125, 62, 124, 62, 124, 62, 124, 62]);
  assert.equal(answered, 4);
  most = 1_000_000;
  for (let question = 0; question < 8; question++) await ask();
  assert.equal(stretches.blocks, 2000);
});

test('a single block that is refused is an error of the node', async () => {
  const { ask } = rig(() => {
    throw new RpcError('eth_getLogs: header not found');
  });
  while ((await ask().catch((error: Error) => error)) === null);
  await assert.rejects(ask(), RpcError);
});

for (const words of [
  'daily request count exceeded, request rate limited',
  'Too Many Requests',
  'your app has exceeded its compute units per second capacity',
  'project ID request rate exceeded: quota',
  'HTTP status 429',
]) {
  test(`a quota changes no stretch, and the node is left alone for longer each time: ${words}`, async () => {
    let isRefused = true;
    const { asked, ask, time, stretches } = rig(() => {
      if (isRefused) throw new RpcError(`eth_getLogs: ${words}`);
      return [];
    });
    const times: number[] = [];
    for (; time.nowMs < 130_000; time.nowMs += 500) {
      const before = asked.length;
      await assert.rejects(ask(), NodeUnreachable);
      if (asked.length > before) times.push(time.nowMs / 1000);
    }
    assert.deepEqual(times, [0, 2, 6, 14, 30, 62, 122]);
    assert.equal(stretches.blocks, 2000);
    isRefused = false;
    time.nowMs += 60_000;
    assert.deepEqual(await ask(), []);
    isRefused = true;
    await assert.rejects(ask(), NodeUnreachable);
    time.nowMs += 2000;
    isRefused = false;
    assert.deepEqual(await ask(), [], 'the pauses begin anew');
  });
}
