/** Calls of a node (shared/chain/rpc.ts, node.ts). */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { ChainNode } from '../../../../shared/chain/node.ts';
import { HttpRpc, NodeUnreachable, type Rpc, RpcError } from '../../../../shared/chain/rpc.ts';

let answer: (id: number) => string | null = () => null;
let authorization: string | undefined;
const server = createServer((request, response) => {
  authorization = request.headers.authorization;
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const text = answer(JSON.parse(body).id);
    if (text !== null) response.end(text);
  });
});
before(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
after(() => {
  server.closeAllConnections();
  server.close();
});
const rpcOf = (timeoutMs?: number, credentials = ''): Rpc => {
  const { port } = server.address() as AddressInfo;
  return new HttpRpc(`http://${credentials}127.0.0.1:${port}/secret-of-the-url`, timeoutMs);
};

test('an answer is the result of its own request', async () => {
  answer = (id) => JSON.stringify({ jsonrpc: '2.0', id, result: '0x89' });
  assert.equal(await new ChainNode(rpcOf()).chainId(), 137);
  answer = (id) => JSON.stringify({ jsonrpc: '2.0', id: id + 1, result: '0x89' });
  await assert.rejects(rpcOf().call('eth_chainId', []), /not an answer/);
});

test('name and password of an address are sent as a header', async () => {
  answer = (id) => JSON.stringify({ jsonrpc: '2.0', id, result: '0x89' });
  await rpcOf().call('eth_chainId', []);
  assert.equal(authorization, undefined);
  await rpcOf(undefined, 'name:pass%2Fword@').call('eth_chainId', []);
  assert.equal(authorization, `Basic ${Buffer.from('name:pass/word').toString('base64')}`);
});

test('the refusal of a contract comes with its data, and others come without', async () => {
  const dataOf = async (error: object): Promise<string | null> => {
    answer = (id) => JSON.stringify({ jsonrpc: '2.0', id, error });
    const refusal = await rpcOf()
      .call('eth_call', [])
      .catch((thrown: unknown) => thrown);
    assert.ok(refusal instanceof RpcError);
    return refusal.data;
  };
  assert.equal(await dataOf({ code: 3, message: 'execution reverted', data: '0xABcd' }), '0xabcd');
  assert.equal(await dataOf({ code: -32000, message: 'execution reverted' }), '0x');
  assert.equal(await dataOf({ code: -32000, message: 'execution reverted', data: 'Reverted 0x' }), '0x');
  assert.equal(await dataOf({ code: -32005, message: 'limit exceeded' }), null);
});

test('a node that hangs costs one time-out, and no error names its address', async () => {
  answer = () => null;
  await assert.rejects(rpcOf(20).call('eth_chainId', []), (error: Error) => {
    assert.ok(error instanceof NodeUnreachable);
    assert.doesNotMatch(`${error.message} ${error.stack} ${error.cause}`, /secret-of-the-url/);
    return true;
  });
});

test('a refusal is an answer, with the words of the node', async () => {
  answer = (id) => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'nonce too low' } });
  await assert.rejects(rpcOf().call('eth_sendRawTransaction', ['0x']), (error: Error) => {
    assert.ok(error instanceof RpcError);
    assert.match(error.message, /nonce too low/);
    return true;
  });
});

test('malformed answers are errors, never values', async () => {
  const hash = `0x${'1'.repeat(64)}` as const;
  const block = { hash, number: '0x1', timestamp: '0x1', gasLimit: '0x1' };
  const cases: [unknown, (node: ChainNode) => Promise<unknown>][] = [
    ['12', (node) => node.chainId()],
    [`0x${'f'.repeat(15)}`, (node) => node.chainId()],
    [{ ...block, hash: '0x1234' }, (node) => node.block('latest')],
    ['latest', (node) => node.block('latest')],
    ['0x123', (node) => node.view(hash, '0x', 'latest')],
    [{ transactionHash: `0x${'2'.repeat(64)}` }, (node) => node.receipt(hash)],
  ];
  for (const [result, ask] of cases) {
    await assert.rejects(ask(new ChainNode({ call: async () => result })), NodeUnreachable, JSON.stringify(result));
  }
});

test('many callers that ask again at once have at most eight calls at a time', async (t) => {
  let [now, most] = [0, 0];
  t.mock.method(globalThis, 'fetch', async (_: string, { body }: { body: string }) => {
    most = Math.max(most, ++now);
    await null;
    now--;
    return new Response(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: '0x1' }));
  });
  const rpc = rpcOf();
  const caller = async (): Promise<void> => {
    for (let call = 0; call < 20; call++) await rpc.call('eth_chainId', []);
  };
  await Promise.all(Array.from({ length: 40 }, caller));
  assert.equal(most, 8);
});

test('an error in which a node repeats its address is shown without the secrets in it', async () => {
  answer = (id) => {
    const message = 'the key secret-of-the-url of name:password-of-it may not';
    return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message } });
  };
  const message = 'eth_chainId: the key *** of name:*** may not';
  await assert.rejects(rpcOf(undefined, 'name:password-of-it@').call('eth_chainId', []), { message });
});
