/** Answers to the gateway (engine/settlement/desk.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeErrorResult } from 'viem';
import { Desk } from '../../../../engine/settlement/desk.ts';
import { EXCHANGE_ABI } from '../../../../shared/chain/exchangeAbi.ts';
import { NodeUnreachable, RpcError } from '../../../../shared/chain/rpc.ts';
import type { ChainReply } from '../../../../shared/wire/chainQuestions.ts';

/** A desk at which every acknowledgement fails so. */
function deskOf(error: Error | null) {
  const replies: ChainReply[] = [];
  const fail = () => {
    if (error !== null) throw error;
  };
  const options = { news: { acknowledge: fail }, relay: { handlers: {} }, refused: { handlers: {} } };
  const desk = new Desk(options as never, (reply) => replies.push(reply));
  return { replies, ask: () => desk.answer({ id: 7, question: 'acknowledge', ask: { news: 1 } }) };
}

test('an answer, a refusal of a contract and a node that is away are three kinds of reply', async () => {
  const settled = encodeErrorResult({ abi: EXCHANGE_ABI, errorName: 'TradeAlreadySettled', args: [1n] });
  const cases: [Error | null, object][] = [
    [null, { answer: null }],
    [new RpcError('eth_call: execution reverted', settled), { refused: 'TradeAlreadySettled' }],
    [new RpcError('eth_call: execution reverted', '0x12345678'), { refused: '0x12345678' }],
    [new RpcError('eth_call: limit exceeded'), { down: 'eth_call: limit exceeded' }],
    [new NodeUnreachable('eth_call: no answer'), { down: 'eth_call: no answer' }],
  ];
  for (const [error, reply] of cases) {
    const { replies, ask } = deskOf(error);
    await ask();
    assert.deepEqual(replies, [{ id: 7, ...reply }]);
  }
});

test('any other error is an error of the thread', async () => {
  const { replies, ask } = deskOf(new Error('a bug'));
  await assert.rejects(ask(), /a bug/);
  assert.deepEqual(replies, []);
});
