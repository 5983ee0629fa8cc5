/**
 * Everything an engine knows held against everything the oracle knows: books in queue order, money, tokens, markets.
 */
import assert from 'node:assert/strict';
import type { Levels } from '../../engine/book/levels.ts';
import type { Market } from '../../engine/book/market.ts';
import { DOUBLE_SHIFT, NONE, type Orders, WORD_SHIFT } from '../../engine/book/orders.ts';
import { CLIENT_ID_WORDS, NO_TAG } from '../../engine/book/tags.ts';
import type { Engine } from '../../engine/core/engine.ts';
import { OUTCOME } from '../../shared/base/codes.ts';
import { DOMAINS } from './command.ts';
import { ACCOUNTS } from './flow.ts';
import type { Oracle } from './oracle.ts';

/** Users and the fee account. */
const HOLDERS = [0, ...ACCOUNTS];

export function assertAgreement(
  engine: Engine,
  oracle: Oracle,
  frameOf: (market: number) => number,
  toIndex: (m: number) => number,
): void {
  const { ledger, markets, orders } = engine.state;
  oracle.markets.forEach((expected, of) => {
    const market = markets.peek(toIndex(of))!;
    const { stage } = market;
    const facts = { status: market.status, stage, feeBps: market.feeBps, collateral: usdcOf(market) };
    const { status, feeBps } = expected;
    const collateral = expected.set?.pot ?? expected.collateral;
    const expectedFacts = { status, stage: expected.stage, feeBps, collateral };
    assert.deepEqual(facts, expectedFacts, `market ${market.index}`);
    assert.equal(market.sequence, frameOf(market.index), 'the last frame is the last one that was read');
    for (const isBid of [true, false]) {
      const queue = oracle.queue(of, isBid).map((order) => `${order.id}: ${order.remaining} ${order.clientId}`);
      assert.deepEqual(queueOf(engine, isBid ? market.book.bids : market.book.asks), queue, `market ${market.index}`);
    }
    for (const account of HOLDERS) {
      for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
        const available = BigInt(ledger.availableTokens(account, market.index, outcome));
        const reserved = BigInt(ledger.reservedTokens(account, market.index, outcome));
        const expectedTokens = oracle.tokens(account, of, outcome);
        assert.deepEqual({ available, reserved }, expectedTokens, `tokens of ${account} in market ${market.index}`);
      }
    }
  });
  for (const account of HOLDERS) {
    const available = BigInt(ledger.netMicro[account]);
    const reserved = BigInt(ledger.reservedOf(account));
    assert.deepEqual({ available, reserved }, oracle.usdc(account), `USDC of ${account}`);
  }
  assert.equal(engine.state.stages.ofShard, oracle.stage, 'the stage of new markets');
  assert.equal(orders.openCount, oracle.open.length, 'open orders');
  const { contracts, groups } = engine.state;
  assert.equal(groups.count, oracle.groups.size, 'order groups');
  for (const [index, expected] of oracle.groups) {
    const { isTripped, window, windowSec } = groups.find(expected.account, index)!;
    const filled = BigInt(window.sumAfter(oracle.nowMs - windowSec * 1000));
    const facts = { isTripped: expected.isTripped, filled: oracle.filledOf(expected) };
    assert.deepEqual({ isTripped, filled }, facts, `order group ${index}`);
  }
  if (contracts.haveChanged) assert.equal(contracts.chainId, DOMAINS[oracle.domain].chainId, 'contracts');
  else assert.equal(oracle.domain, 0, 'contracts');
}

/** The USDC behind the tokens of a market, or of its whole set. */
function usdcOf({ collateralMicro, set }: Market): bigint {
  if (set === null) return BigInt(collateralMicro);
  const collateral = set.members.reduce((sum, member) => sum + BigInt(member?.collateralMicro ?? 0), 0n);
  return BigInt(set.excessMicro) + collateral;
}

function queueOf(engine: Engine, levels: Levels): string[] {
  const { orders } = engine.state;
  const queue: string[] = [];
  for (let tick = levels.bestTick; tick >= 0; tick = levels.worseThan(tick)) {
    for (let slot = levels.head[tick]; slot !== NONE; slot = orders.next[slot << WORD_SHIFT]) {
      const remaining = orders.remainingLots[slot << DOUBLE_SHIFT];
      queue.push(`${orders.sequence[slot << DOUBLE_SHIFT]}: ${remaining} ${clientIdOf(orders, slot)}`);
    }
  }
  return queue;
}

/** The client order id of an engine's open order, or nothing. */
export function clientIdOf({ tag, tags }: Orders, slot: number): string {
  const row = tag[slot << WORD_SHIFT];
  if (row === NO_TAG) return '';
  const start = tags.clientId.byteOffset + row * CLIENT_ID_WORDS * 4;
  return Buffer.from(tags.clientId.buffer, start, tags.clientIdBytes[row]).toString('latin1');
}
