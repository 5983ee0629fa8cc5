/** Several nodes of a chain behind one (shared/chain/nodes.ts, RULES.md 17.47). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeHealth } from '../../../../shared/base/chainFacts.ts';
import { ChainNode, type Hex } from '../../../../shared/chain/node.ts';
import { ChainNodes, nodeUrls } from '../../../../shared/chain/nodes.ts';
import { NodeUnreachable, type Rpc, RpcError } from '../../../../shared/chain/rpc.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const SENT: Hex = `0x${'5e'.repeat(32)}`;
const ADDRESS: Hex = `0x${'ab'.repeat(20)}`;
const CALL = { from: ADDRESS, to: ADDRESS, data: '0x' as Hex, gas: 21_000 };
const hex = (value: number): Hex => `0x${value.toString(16)}`;
const hash = (value: number, fork = '0'): Hex => `0x${fork}${value.toString(16).padStart(63, '0')}`;

/** One node of a chain that has had a block each two seconds, a transfer in each. */
class FakeNode implements Rpc {
  head = 100;
  /** Of its own blocks. */
  fork = '0';
  tip = 30;
  asked: string[] = [];
  /** Instead of an answer. */
  fails: (() => Promise<never>) | null = null;
  changes: Readonly<Record<string, (answer: unknown) => unknown>> = {};

  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    this.asked.push(method);
    await null;
    if (this.fails !== null) return this.fails();
    const answer = this.#answer(method, params);
    return this.changes[method] === undefined ? answer : this.changes[method](answer);
  }

  #answer(method: string, params: readonly unknown[]): unknown {
    switch (method) {
      case 'eth_chainId':
        return hex(137);
      case 'eth_maxPriorityFeePerGas':
        return hex(this.tip);
      case 'eth_sendRawTransaction':
        return SENT;
      case 'eth_getBlockByNumber':
        return this.#block(params[0]);
      case 'eth_getTransactionReceipt': {
        if (this.head < 90) return null;
        const logs = [{ address: ADDRESS, topics: [SENT], data: '0x01' }];
        const place = { blockNumber: hex(90), blockHash: hash(90, this.fork) };
        return { transactionHash: params[0], ...place, status: '0x1', gasUsed: '0x1', logs };
      }
      case 'eth_getLogs': {
        const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string };
        const last = Math.min(Number(toBlock), this.head);
        return Array.from({ length: last - Number(fromBlock) + 1 }, (_, i) => this.#log(Number(fromBlock) + i));
      }
      case 'eth_getBalance':
        return this.#at(params[1], hex(7));
      case 'eth_call':
        return this.#at(params[1], `0x${'00'.repeat(31)}07`);
      case 'eth_getTransactionByHash':
        return this.head < 90 ? null : { hash: params[0], to: ADDRESS, input: '0x01', blockNumber: hex(90) };
      default:
        throw new Error(method);
    }
  }

  #at(block: unknown, answer: string): string {
    assert.match(String(block), /^0x/, 'NODES-1: a question is about one block');
    if (Number(block) > this.head) throw new RpcError('header not found');
    return answer;
  }

  #block(tag: unknown): unknown {
    const number = tag === 'latest' ? this.head : tag === 'finalized' ? this.head - 2 : Number(tag);
    if (number > this.head) return null;
    const timestamp = hex(1_700_000_000 + 2 * number);
    return { number: hex(number), hash: hash(number, this.fork), timestamp, gasLimit: hex(30_000_000) };
  }

  #log(number: number): unknown {
    const place = { blockNumber: hex(number), blockHash: hash(number, this.fork), logIndex: '0x0' };
    return { address: ADDRESS, topics: [SENT], data: '0x', ...place, transactionHash: SENT };
  }
}

type World = {
  readonly clock: ManualClock;
  readonly fakes: readonly FakeNode[];
  readonly chain: ChainNode;
  readonly states: () => readonly string[];
  readonly health: () => readonly NodeHealth[];
};

function world(count: number): World {
  const clock = new ManualClock(1_700_000_000_000);
  const fakes = Array.from({ length: count }, () => new FakeNode());
  const nodes = new ChainNodes(fakes, () => clock.nowMs());
  const states = (): string[] => nodes.health.map(({ state }) => state);
  return { clock, fakes, chain: new ChainNode(nodes), states, health: () => nodes.health };
}

/** Late answers are compared as well. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const hangsUp = () => Promise.reject(new NodeUnreachable('no answer from the node'));
const hangs = () => new Promise<never>(() => {});
const overQuota = () => Promise.reject(new RpcError('429 too many requests'));
const logs = (chain: ChainNode) => chain.logs({ address: ADDRESS, topics: [], fromBlock: 80, toBlock: 85 });

async function readsAll(chain: ChainNode): Promise<void> {
  assert.equal((await chain.block('latest'))?.hash, hash(100));
  assert.equal((await chain.block('finalized'))?.hash, hash(98));
  assert.equal((await chain.receipt(SENT))?.blockHash, hash(90));
  assert.equal((await logs(chain)).length, 6);
  assert.equal(await chain.balanceWei(ADDRESS), 7n);
  assert.equal(BigInt(await chain.view(ADDRESS, '0x', 'latest')), 7n);
  assert.deepEqual(await chain.callOf(SENT), { to: ADDRESS, input: '0x01' });
  assert.equal(await chain.chainId(), 137);
}

const WRONG: readonly [what: string, state: string, make: (node: FakeNode) => void][] = [
  ['is down', 'away', (node) => (node.fails = hangsUp)],
  ['is over its quota', 'away', (node) => (node.fails = overQuota)],
  ['is 20 blocks behind', 'behind', (node) => (node.head = 80)],
  ['is on another fork', 'differs', (node) => (node.fork = 'f')],
  ['invents blocks', 'differs', (node) => Object.assign(node, { head: 9000, fork: 'f' })],
  ['hides logs', 'differs', (node) => (node.changes = { eth_getLogs: () => [] })],
  [
    'says of a payment that it was reverted',
    'differs',
    (node) => {
      node.changes = { eth_getTransactionReceipt: (receipt) => ({ ...(receipt as object), status: '0x0' }) };
    },
  ],
  [
    'invents a transfer in a receipt',
    'differs',
    (node) => {
      const log = { address: ADDRESS, topics: [SENT, SENT], data: '0xffff' };
      node.changes = { eth_getTransactionReceipt: (receipt) => ({ ...(receipt as object), logs: [log] }) };
    },
  ],
  ['withholds a receipt', 'differs', (node) => (node.changes = { eth_getTransactionReceipt: () => null })],
  ['says another balance', 'differs', (node) => (node.changes = { eth_getBalance: () => hex(8) })],
  ['has another chain', 'differs', (node) => (node.changes = { eth_chainId: () => hex(1) })],
  ['answers nonsense', 'away', (node) => (node.changes = { eth_getLogs: () => 'nonsense' })],
];

for (const [what, state, make] of WRONG) {
  test(`one of three nodes that ${what} changes nothing, and is named`, async () => {
    for (let at = 0; at < 3; at++) {
      const { fakes, chain, states } = world(3);
      make(fakes[at]!);
      await readsAll(chain);
      if (state === 'away') await logs(chain);
      await settled();
      const expected = Array.from({ length: 3 }, (_, i) => (i === at ? state : 'well'));
      assert.deepEqual(states(), expected);
    }
  });

  test(`no fact passes if one of two nodes, or two of three, ${what}`, async () => {
    const { fakes, chain } = world(2);
    make(fakes[1]!);
    const read = async (): Promise<void> => {
      await readsAll(chain);
      await logs(chain);
    };
    if (state === 'behind') assert.equal((await chain.block('latest'))?.number, 80, 'what both have');
    else await assert.rejects(read(), (error) => error instanceof NodeUnreachable || error instanceof RpcError);
  });
}

test('a node that hangs is not waited for, and is asked one thing at a time', async () => {
  const { fakes, chain } = world(3);
  fakes[2]!.fails = hangs;
  for (let round = 0; round < 100; round++) await logs(chain);
  assert.equal(fakes[2]!.asked.length, 64, 'no more than this waits for it');
  const down = world(3);
  down.fakes[2]!.fails = hangsUp;
  for (let round = 0; round < 50; round++) await logs(down.chain);
  await settled();
  assert.equal(down.fakes[2]!.asked.length, 1);
  assert.equal(down.states()[2], 'away');
  down.clock.advance(5000);
  down.fakes[2]!.fails = null;
  await logs(down.chain);
  await settled();
  assert.deepEqual(down.states(), ['well', 'well', 'well']);
});

test('without a quorum the answer says how many there are, or who says otherwise than whom', async () => {
  const { fakes, chain } = world(3);
  fakes[0]!.fails = hangsUp;
  fakes[1]!.fails = hangsUp;
  await assert.rejects(logs(chain), { name: 'NodeUnreachable', message: /1 of 3 nodes answer, and 2 have to/ });
  const split = world(3);
  for (const [i, node] of split.fakes.entries()) node.fork = String(i);
  const message = /eth_getLogs: the nodes do not agree \(node 1 otherwise than 2 otherwise than 3\)/;
  await assert.rejects(logs(split.chain), { name: 'NodeUnreachable', message });
  const refusing = world(3);
  const tooLong = () => Promise.reject(new RpcError('block range is too large'));
  refusing.fakes[0]!.fails = refusing.fakes[1]!.fails = tooLong;
  await assert.rejects(logs(refusing.chain), { name: 'RpcError', message: /too large/ }, 'it may ask for fewer blocks');
});

test('a transaction is sent to all nodes, and it is enough if one takes it', async () => {
  const { fakes, chain } = world(3);
  fakes[0]!.fails = hangsUp;
  fakes[1]!.fails = () => Promise.reject(new RpcError('transaction underpriced'));
  await chain.send('0x01');
  assert.ok(fakes.every(({ asked }) => asked.includes('eth_sendRawTransaction')));
  fakes[2]!.fails = hangsUp;
  await assert.rejects(chain.send('0x01'), { name: 'RpcError', message: /underpriced/ });
  fakes[1]!.fails = hangsUp;
  await assert.rejects(chain.send('0x01'), { name: 'NodeUnreachable' });
});

test("the tip is the median of the nodes' suggestions, whatever one node wants", async () => {
  const { fakes, chain } = world(3);
  Object.assign(fakes[0]!, { tip: 1_000_000 });
  assert.equal(await chain.priorityFeeWei(), 30n);
  fakes[1]!.fails = fakes[2]!.fails = () => Promise.reject(new RpcError('method not found'));
  assert.equal(await chain.priorityFeeWei(), 1_000_000n, 'one that answers is enough');
  fakes[0]!.fails = () => Promise.reject(new RpcError('method not found'));
  assert.equal(await chain.priorityFeeWei(), null);
});

test('a call that is reverted is reverted by a quorum, with its reason', async () => {
  const { fakes, chain } = world(3);
  const reverts = (data: Hex) => () => Promise.reject(new RpcError('execution reverted', data));
  await chain.block('latest');
  fakes[0]!.fails = reverts('0xaabb');
  await chain.simulate(CALL);
  fakes[1]!.fails = reverts('0xaabb');
  await assert.rejects(chain.simulate(CALL), { name: 'RpcError', data: '0xaabb' });
  fakes[1]!.fails = reverts('0xcc');
  await assert.rejects(chain.simulate(CALL), NodeUnreachable);
});

test('a transaction that waits in one pool is known, and nothing else is said of it', async () => {
  const { fakes, chain } = world(3);
  const waits = { hash: SENT, to: ADDRESS, input: '0x01', blockNumber: null };
  for (const node of fakes) node.changes = { eth_getTransactionByHash: () => null };
  assert.equal(await chain.isKnown(SENT), false);
  fakes[0]!.changes = { eth_getTransactionByHash: () => waits };
  assert.equal(await chain.isKnown(SENT), true);
  await assert.rejects(chain.callOf(SENT), NodeUnreachable);
});

test('the list has commas, and a single node is asked as it is', async () => {
  assert.deepEqual(nodeUrls('http://a , http://b'), ['http://a', 'http://b']);
  const only = new FakeNode();
  const nodes = new ChainNodes([only]);
  assert.equal((await new ChainNode(nodes).block('latest'))?.number, 100);
  assert.deepEqual(only.asked, ['eth_getBlockByNumber']);
  assert.deepEqual(nodes.health, []);
});
