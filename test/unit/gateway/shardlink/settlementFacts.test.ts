/** Answers about claims (gateway/shardlink/settlementFacts.ts); the test plays settlement. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SettlementFacts, SIGNED_WITHIN_MS } from '../../../../gateway/shardlink/settlementFacts.ts';
import { ChainDown } from '../../../../gateway/shardlink/settlementLink.ts';
import { DEFAULT_TIMEOUT_MS } from '../../../../shared/client/http.ts';

const HASH = `0x${'7a'.repeat(32)}`;

/** Settlement's answers in turn, when it is asked for a transaction. */
function factsOf(...answers: (string | null)[]): SettlementFacts {
  const next = async () => {
    const hash = answers.shift();
    if (hash === undefined) throw new ChainDown('it does not answer');
    return { hash };
  };
  return new SettlementFacts({ ask: next as never });
}

test('RULES.md 17.34: a claim is answered with its transaction once that is signed', async () => {
  assert.equal(await factsOf(null, null, HASH).transactionOf('', 0, 1), HASH);
  assert.equal(await factsOf(null).transactionOf('', 0, 1), null, 'settlement has ended meanwhile');
});

test('RULES.md 17.34: a claim is answered before the client gives it up', () => {
  assert.ok(SIGNED_WITHIN_MS + 1000 < DEFAULT_TIMEOUT_MS);
});
