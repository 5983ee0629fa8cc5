/** The two places of settlement behind one port (gateway/shardlink/settlementPort.ts). */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SettlementFacts } from '../../../../gateway/shardlink/settlementFacts.ts';
import { ChainDown } from '../../../../gateway/shardlink/settlementLink.ts';
import { LEDGER_SETTLEMENT } from '../../../../gateway/shardlink/settlementPort.ts';
import { entryHash } from '../../../../shared/crypto/entryHash.ts';
import type { ChainQuestion } from '../../../../shared/wire/chainQuestions.ts';

const MARKET = 'd02e8e42-5f3a-4d13-95d5-5ae78bb29b02';
const WALLET = `0x${'a1'.repeat(20)}`;

/** Files that decide whether there is a chain, or belong to one side of that decision. */
const CHOOSERS = [
  'gateway/chain/settlementMode.ts',
  'gateway/programs/ramp/main.ts',
  'gateway/wiring/control.ts',
  'gateway/wiring/demo.ts',
  'gateway/wiring/exchange.ts',
  'gateway/wiring/stores.ts',
];

test('SETTLEMENTPORT-1: the ledger has done at once what a chain would still have to do', async () => {
  const facts = new SettlementFacts(LEDGER_SETTLEMENT);
  assert.equal(await facts.transactionOf(MARKET, 1, 7), entryHash(MARKET, 7));
  assert.equal(await facts.isClaimed(WALLET, MARKET), true);
  assert.equal(await facts.isDelegate(WALLET, WALLET), true);
  assert.equal(await facts.successorProblem(WALLET), null);
  const { bounds, standing } = LEDGER_SETTLEMENT;
  assert.equal(bounds.take(1, 'amount', 1, 9) ?? bounds.takeSets(1, 'amount', 1, 9), null);
  assert.deepEqual([bounds.feeMicro, bounds.shown], [null, {}], 'no answer names a fee');
  assert.deepEqual([standing.isConnected, standing.isReported, standing.refusal], [true, false, null]);
});

test('SETTLEMENTPORT-1: only a chain gives permits and knows destinations', async () => {
  const ofChains: ChainQuestion[] = ['depositPermit', 'prepareRelease', 'waitingPayments', 'deploy', 'railBalance'];
  for (const question of ofChains) await assert.rejects(LEDGER_SETTLEMENT.ask(question, {} as never), ChainDown);
});

test('only what opens an exchange asks whether there is a chain: everything else asks the port', () => {
  const asking = globSync('gateway/**/*.ts').filter((file) => {
    const text = readFileSync(file, 'utf8');
    return /\b(chain|chainLink|chainHealth|chainBounds|secrets) *[!=]== *null|\bis(On|Has)Chain\b|\bhasChain\b/.test(
      text,
    );
  });
  assert.deepEqual(asking.toSorted(), CHOOSERS);
});
