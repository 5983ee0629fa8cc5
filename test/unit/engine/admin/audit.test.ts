/** The second accounting agrees with the engine to the micro, and says so when a journal does not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Accounting } from '../../../../engine/admin/accounting.ts';
import { auditDirectory, auditShard } from '../../../../engine/admin/audit.ts';
import { JournalError } from '../../../../engine/journal/row.ts';
import { CLOSE_REASON, MATCH_TYPE, OUTCOME, SIDE, TIME_IN_FORCE } from '../../../../shared/base/codes.ts';
import { COMMAND } from '../../../../shared/wire/commands.ts';
import { ANY_EVENT, decodeEvents, EVENT, typeOf } from '../../../../shared/wire/events.ts';
import { readSafe, writeSafe } from '../../../../shared/wire/record.ts';
import { errorKey, type MemoryJournal } from '../../../support/engine.ts';
import { EngineRig } from '../../../support/engineRig.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';
import { isAccepted, SIGNED_AMOUNTS, SignedRig } from '../../../support/signedAmounts.ts';

const VECTORS_OF_A_RIG = 8;

function differencesOf(journal: MemoryJournal): string[] {
  const differences: string[] = [];
  const accounting = new Accounting((difference) => differences.push(difference));
  for (const row of journal.rows) accounting.record(row);
  return differences;
}

/** The first event of a type, with the words it lies in. */
function find(journal: MemoryJournal, type: number): { words: Uint32Array; word: number } {
  for (const { events } of journal.rows) {
    const { words, end } = events;
    for (let { word } = events; word < end; word += words[word] / 4) {
      if (typeOf(words[word + ANY_EVENT.type]) === type) return { words, word };
    }
  }
  throw new Error(`no event of type ${type}`);
}

/** Plays one vector in every way. @returns what was not as it says */
function played(signed: SignedRig, vector: (typeof SIGNED_AMOUNTS)[number]): string[] {
  const surprises: string[] = [];
  for (const outcome of [OUTCOME.YES, OUTCOME.NO]) {
    if (!isAccepted(vector)) {
      if (errorKey(signed.refused(vector, outcome).reply.code) !== vector.refusal) surprises.push(vector.name);
      continue;
    }
    for (const state of vector.states) {
      for (const isSameOutcome of [true, false]) {
        const { events } = signed.traded(vector, state, outcome, isSameOutcome);
        const fills = events.filter(({ kind }) => kind === 'fill');
        if (fills.length !== state.fills.length) surprises.push(`${vector.name}: ${fills.length} fills`);
        signed.clear();
      }
    }
  }
  return surprises;
}

/** One trade with fees in it: alice sells two lots, bob takes one. */
function tradedOnce(): MemoryJournal {
  const rig = new EngineRig();
  rig.market(0);
  rig.fund(1, 10_000_000);
  rig.fund(2, 10_000_000);
  rig.convert(1, 0, 5_000_000);
  rig.place({ account: 1, side: SIDE.SELL, outcome: OUTCOME.YES, ticks: 60, lots: 20_000 });
  rig.place({ account: 2, side: SIDE.BUY, outcome: OUTCOME.YES, ticks: 65, lots: 10_000 });
  return rig.journal;
}

describe('admin audit', () => {
  it('balances a shard in which everything happened that can', () => {
    const shard = new JournaledShard();
    shard.trade(600);
    const kinds = new Set<string>();
    for (const { events } of shard.rig.journal.rows) {
      for (const event of decodeEvents(events.words, events.word, events.end)) {
        if (event.name === 'FILL') kinds.add(`fill ${event.matchType}`);
        if (event.name === 'CLOSED') kinds.add(`closed ${event.reason}`);
        if (event.name === 'DORMANT') kinds.add('dormant');
      }
    }
    for (const type of Object.values(MATCH_TYPE)) assert.ok(kinds.has(`fill ${type}`), `match type ${type}`);
    const reasons = ['FILLED', 'USER', 'EXPIRED', 'SELF_TRADE', 'FAK_REMAINDER'] as const;
    for (const name of reasons) assert.ok(kinds.has(`closed ${CLOSE_REASON[name]}`), name);
    assert.ok(kinds.has('dormant'));
    shard.decideMarkets();
    shard.trade(60);

    const { text, isBalanced } = auditDirectory([shard.file], null);
    assert.ok(isBalanced, text);
    assert.match(text, new RegExp(`shard 0: records 1 to ${shard.last}\n`));
    assert.ok(text.endsWith('\nbalanced'));
  });

  it('comes to what the engine says of every account, and to the fees it collected', () => {
    const shard = new JournaledShard(21);
    shard.trade(300);
    const { accounting, differences } = auditShard(shard.file);
    assert.deepEqual(differences, []);
    for (const account of [1, 2, 3]) {
      const { available, reserved } = shard.rig.usdc(account);
      assert.deepEqual(accounting.purse(account), { available: BigInt(available), reserved: BigInt(reserved) });
    }
    assert.equal(accounting.feesMicro, BigInt(shard.rig.usdc(0).available));
    assert.ok(accounting.feesMicro > 0n && accounting.feesAtomic > 0n);
  });

  it('begins at the oldest snapshot when the journal was trimmed, and says so', () => {
    const shard = new JournaledShard(22);
    shard.trade(200);
    const older = shard.snapshot().sequence;
    shard.trade(100);
    shard.snapshot();
    shard.decideMarkets();
    shard.trade(50);
    shard.trim(older - 10);
    const { text, isBalanced } = auditDirectory([shard.file], null);
    assert.ok(isBalanced, text);
    assert.match(text, new RegExp(`trimmed: balances at ${older} come from a snapshot`));
  });

  it('adds up nothing from a journal that is damaged', () => {
    const shard = new JournaledShard();
    shard.close();
    shard.damageRecord(3);
    assert.throws(() => auditShard(shard.file), JournalError);
  });

  it('balances orders of every ratio that may be signed, on each side of both outcomes, however they are met', () => {
    const surprises: string[] = [];
    // The rig checks the whole state after each command, so its state stays small.
    for (let from = 0; from < SIGNED_AMOUNTS.length; from += VECTORS_OF_A_RIG) {
      const signed = new SignedRig();
      for (const vector of SIGNED_AMOUNTS.slice(from, from + VECTORS_OF_A_RIG))
        surprises.push(...played(signed, vector));
      surprises.push(...differencesOf(signed.rig.journal));
    }
    // The audit is compared with the engine, not with the vectors: each finds a slip of the other.
    assert.deepEqual(surprises, []);
  });

  it('finds a limit beyond the one that was signed, and an order off the grid', () => {
    const journal = tradedOnce();
    const { words, word } = find(journal, EVENT.ORDER.TYPE);
    words[word + EVENT.ORDER.limitTicks]++;
    assert.match(differencesOf(journal)[0], /limit of the order: the journal says 61, the audit 60/);
    for (const usdcMicro of [1_000_000, 1_000_001, 600_001]) {
      const bought = tradedOnce();
      const { command } = bought.rows.at(-1)!;
      writeSafe(command.words, command.word + COMMAND.PLACE.makerAmount, usdcMicro);
      assert.match(differencesOf(bought)[0], /the order is on the grid: the journal says true, the audit false/);
    }
  });

  it('finds an order that receives less than its minimum after the fee', () => {
    const rig = new EngineRig();
    rig.market(0);
    rig.fund(1, 10_000_000);
    rig.fund(2, 10_000_000);
    rig.place({ account: 1, outcome: OUTCOME.NO, ticks: 40, lots: 10_000 });
    const [usdc, tokens] = [1_500_000, 1_000_000];
    const { FOK } = TIME_IN_FORCE;
    const minTakerNet = 995_000;
    rig.place({ account: 2, makerAmount: usdc, takerAmount: tokens, timeInForce: FOK, minTakerNet });
    assert.deepEqual(differencesOf(rig.journal), []);
    const { command } = rig.journal.rows.at(-1)!;
    writeSafe(command.words, command.word + COMMAND.PLACE.minTakerNet, minTakerNet + 1);
    assert.match(differencesOf(rig.journal)[0], /no order receives less than its minimum/);
  });

  it('finds a fee that is a micro too high, and the account that paid it', () => {
    const journal = tradedOnce();
    assert.deepEqual(differencesOf(journal), []);
    const { words, word } = find(journal, EVENT.FILL.TYPE);
    const fee = readSafe(words, word + EVENT.FILL.makerFee);
    assert.equal(fee, 3000);
    writeSafe(words, word + EVENT.FILL.makerFee, fee + 1);
    assert.deepEqual(differencesOf(journal), [
      `record ${journal.rows.length}: fee of the maker: the journal says 3001, the audit 3000`,
    ]);
  });

  it('finds a balance that says more than the movements do', () => {
    const journal = tradedOnce();
    const { words, word } = find(journal, EVENT.ACCOUNT.TYPE);
    writeSafe(words, word + EVENT.ACCOUNT.netMicro, readSafe(words, word + EVENT.ACCOUNT.netMicro) + 1);
    assert.match(differencesOf(journal)[0], /USDC of account 1, available: the journal says 10000001, the audit 1/);
  });

  it('finds a deposit that was carried out twice', () => {
    const rig = new EngineRig();
    rig.fund(1, 7_000_000);
    const again = rig.journal.rows[0].copy();
    again.sequence = 2;
    rig.journal.append(again);
    assert.match(differencesOf(rig.journal)[0], /record 2: a movement of money happens once/);
  });

  it('finds a fill beyond the limit that was signed', () => {
    const journal = tradedOnce();
    const { words, word } = find(journal, EVENT.FILL.TYPE);
    words[word + EVENT.FILL.yesTicks] = 66;
    assert.match(differencesOf(journal).join('\n'), /no fill is worse than the limit/);
  });
});
