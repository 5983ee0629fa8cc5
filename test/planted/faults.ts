/**
 * The faults that the tests must notice: each one a slip of one line that a tired programmer could make, as what to
 * look for in one source file (exactly one place) and what to put there, with the tests that are to fail over it.
 */
export type Fault = {
  readonly name: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  readonly caughtBy: string;
};

const CRASH = 'test/sim/crash.test.ts';

export const FAULTS: readonly Fault[] = [
  {
    name: 'what a batch did is told before it is committed',
    file: 'engine/shard/main.ts',
    search: 'loop.run();\n',
    replace: 'loop.run();\n    publish(loop, events);\n',
    caughtBy: 'test/api/shards.test.ts',
  },
  {
    name: 'a cancel overtakes the order it names',
    file: 'engine/shard/commandQueue.ts',
    search: 'if (isOnlyReplaced && this.#replacements === 0) return NO_BARRIER;',
    replace: 'if (!isMany) return NO_BARRIER;',
    caughtBy: CRASH,
  },
  {
    name: 'what overtakes takes its own time along',
    file: 'engine/shard/loop.ts',
    search: 'if (!this.#queue.isEmpty) {',
    replace: 'if (this.#queue.end < 0) {',
    caughtBy: CRASH,
  },
  {
    name: 'a commit is not synced',
    file: 'engine/journal/journal.ts',
    search: "'FULL' : 'NORMAL'",
    replace: "'OFF' : 'NORMAL'",
    caughtBy: 'test/sim/durable.test.ts',
  },
  {
    name: 'a checksum is not looked at',
    file: 'engine/journal/row.ts',
    search: 'if (!isIntact) throw',
    replace: 'if (!isIntact && rowBytes < 0) throw',
    caughtBy: 'test/unit/engine/journal/journal.test.ts',
  },
  {
    name: 'a row may follow another history',
    file: 'engine/journal/row.ts',
    search: "if (!isLinked) throw this.#error(expected, 'does not follow",
    replace: "if (!isLinked && expected < 0) throw this.#error(expected, 'does not follow",
    caughtBy: 'test/unit/engine/journal/journal.test.ts',
  },
  {
    name: 'the high-water mark is not believed',
    file: 'engine/journal/journal.ts',
    search: 'if (marked.sequence > sequence) {',
    replace: 'if (marked.sequence < 0) {',
    caughtBy: 'test/unit/engine/shard/recovery.test.ts',
  },
  {
    name: 'a snapshot comes back without its expirations',
    file: 'engine/core/state.ts',
    search: 'if (orders.expirationSec[slot << DOUBLE_SHIFT] !== 0) expiry.add(slot);',
    replace: '',
    caughtBy: CRASH,
  },
  {
    name: 'earnings can be spent in another shard before they are durable',
    file: 'engine/money/ledger.ts',
    search: 'this.#pendingMicro[account] = addSafe(this.#pendingMicro[account], micro);',
    replace: 'this.#balances.credit(account, micro);',
    caughtBy: CRASH,
  },
  {
    name: 'a reservation reads the cell and then writes it',
    file: 'shared/wire/balances.ts',
    search: 'const found = Atomics.compareExchange(this.#cells, account, seen, seen - amount);',
    replace: 'const found = seen; Atomics.store(this.#cells, account, seen - amount);',
    caughtBy: 'test/sim/cells.test.ts',
  },
  {
    name: 'a refused command leaves a journal row',
    file: 'engine/core/engine.ts',
    search: 'this.#reply(requestId, code === NOTHING_TO_DO ? OK : code, 0);',
    replace:
      'this.#append(words, word, this.out.lengthBytes - RECORD_EVENT_BYTES);\n' +
      '      this.#reply(requestId, code === NOTHING_TO_DO ? OK : code, 0);',
    caughtBy: CRASH,
  },
  {
    name: 'a signed order is accepted twice',
    file: 'engine/core/admission.ts',
    search: 'if (hashes.has(words, word + PLACE.hash)) return E.DUPLICATE_ORDER;',
    replace: '',
    caughtBy: CRASH,
  },
  {
    name: "anybody may cancel anybody's order",
    file: 'engine/core/admitted.ts',
    search: 'return isAdmin || hashes.accountOf(entry) === words[word + ANY_COMMAND.account] ? entry : NO_ENTRY;',
    replace: 'return isAdmin || hashes.accountOf(entry) > 0 ? entry : NO_ENTRY;',
    caughtBy: CRASH,
  },
  {
    name: 'post-only overlooks mint crosses',
    file: 'engine/core/admission.ts',
    search: 'if (isPostOnly && market.book.crosses(isBid, yesTicks))',
    replace: 'if (isPostOnly && outcome === OUTCOME.YES && market.book.crosses(isBid, yesTicks))',
    caughtBy: CRASH,
  },
  {
    name: 'a buy of No stands on the side of the bids',
    file: 'engine/core/orderCommand.ts',
    search: 'return (kindSide(kind) === SIDE.BUY) === (kindOutcome(kind) === OUTCOME.YES) ? 1 : 0;',
    replace: 'return kindSide(kind) === SIDE.BUY ? 1 : 0;',
    caughtBy: CRASH,
  },
  {
    name: 'the limit of an off-grid sell is rounded down',
    file: 'engine/core/grid.ts',
    search: 'side === SIDE.BUY ? floorTicks : ceilTicks',
    replace: 'floorTicks',
    caughtBy: CRASH,
  },
  {
    name: 'the fee is rounded fill by fill',
    file: 'engine/money/settle.ts',
    search: 'bpsFloor(receivedBefore + tokensAtomic, feeBps) - bpsFloor(receivedBefore, feeBps)',
    replace: 'bpsFloor(tokensAtomic, feeBps)',
    caughtBy: CRASH,
  },
  {
    name: 'a closed order keeps its reservation',
    file: 'engine/money/settle.ts',
    search: 'if (lots === 0) return;',
    replace: 'if (lots >= 0) return;',
    caughtBy: CRASH,
  },
  {
    name: 'a price improvement is given back twice',
    file: 'engine/money/settle.ts',
    search: 'ledger.credit(account, reservedMicro - notionalMicro);',
    replace: 'ledger.credit(account, 2 * (reservedMicro - notionalMicro));',
    caughtBy: CRASH,
  },
  {
    name: 'a merge pays out and keeps the collateral',
    file: 'engine/core/matcher.ts',
    search: 'matchType === MATCH_TYPE.MINT ? set : -set',
    replace: 'matchType === MATCH_TYPE.MINT ? set : 0',
    caughtBy: CRASH,
  },
  {
    name: 'sleeping orders forget which came first',
    file: 'engine/book/book.ts',
    search:
      'while (before !== NONE && this.#orders.priorityOf(before) > priority) before = previous[before << WORD_SHIFT];',
    replace: '',
    caughtBy: 'test/unit/book/dormancy.test.ts',
  },
  {
    name: 'a rehearsal overlooks what the makers of an order gain',
    file: 'engine/core/exactBound.ts',
    search: 'export const ORDER_WEIGHT = 4;',
    replace: 'export const ORDER_WEIGHT = 3;',
    caughtBy: 'test/sim/equivalence.test.ts',
  },
  {
    name: 'what was filled of an order group counts for ever',
    file: 'engine/core/groupLimits.ts',
    search: '    group.roll(nowMs);\n',
    replace: '',
    caughtBy: 'test/unit/book/groups.test.ts',
  },
  {
    name: 'a FOK order does not see that a group will be taken away',
    file: 'engine/core/lookAhead.ts',
    search: 'if (makerGroup !== NO_GROUP && groups.wouldTrip(makerGroup)) continue;',
    replace: '',
    caughtBy: 'test/unit/book/groups.test.ts',
  },
  {
    name: 'an incoming order goes on when its group has tripped',
    file: 'engine/core/matcher.ts',
    search: 'if (isTripped) return CLOSE_REASON.GROUP_LIMIT;',
    replace: '',
    caughtBy: 'test/sim/equivalence.test.ts',
  },
  {
    name: 'a snapshot comes back without what was filled of the groups',
    file: 'engine/book/orderGroups.ts',
    search: 'group.window.persist(io);',
    replace: 'new FillWindow().persist(io);',
    caughtBy: CRASH,
  },
  {
    name: 'a restart goes back to the contracts of the settings',
    file: 'engine/core/engine.ts',
    search: 'this.state.ledger.goLive();\n    this.#useContracts();',
    replace: 'this.state.ledger.goLive();',
    caughtBy: 'test/unit/engine/core/contracts.test.ts',
  },
  {
    name: 'orders expire a second late',
    file: 'engine/core/expiry.ts',
    search: 'this.#orders.expirationSec[this.#heap[0] << DOUBLE_SHIFT] * 1000;',
    replace: '(this.#orders.expirationSec[this.#heap[0] << DOUBLE_SHIFT] + 1) * 1000;',
    caughtBy: CRASH,
  },
  {
    name: 'an amend that grows keeps its place in the queue',
    file: 'engine/core/placing.ts',
    search: 'const isNoLarger = quantityLots <= orders.remainingLots[old << DOUBLE_SHIFT];',
    replace: 'const isNoLarger = quantityLots <= orders.quantityLots[old << DOUBLE_SHIFT] + 1;',
    caughtBy: 'test/unit/book/replace.test.ts',
  },
  {
    name: 'a refused replacement puts its old order back at the end',
    file: 'engine/core/admission.ts',
    search: 'market.book.restBehind(old, before);',
    replace: 'market.book.rest(old);',
    caughtBy: 'test/unit/book/replace.test.ts',
  },
  {
    name: 'the old reservation does not count for the order that replaces it',
    file: 'engine/core/admission.ts',
    search: 'const freed = admitted.openSlot === NONE ? 0 : this.#freedBy(admitted.openSlot, kind, market);',
    replace: 'const freed = admitted.openSlot === NONE ? 0 : 0 * this.#freedBy(admitted.openSlot, kind, market);',
    caughtBy: 'test/unit/book/replace.test.ts',
  },
  {
    name: 'the first frame of an order with a tag shows it after its first fill',
    file: 'gateway/stream/private/feed.ts',
    search: 'this.#order.remainingLots = this.#order.quantityLots;',
    replace: '',
    caughtBy: 'test/unit/gateway/stream/private/tail.test.ts',
  },
  {
    name: 'private frames leave before they are in the log',
    file: 'gateway/stream/private/intake.ts',
    search: 'if (!this.#options.log.commit()) return false;\n',
    replace: 'this.#options.onCommitted(touched);\n    if (!this.#options.log.commit()) return false;\n',
    caughtBy: 'test/unit/gateway/stream/private/intake.test.ts',
  },
  {
    name: 'a restart numbers private frames anew',
    file: 'gateway/stream/private/log.ts',
    search: 'this.#last[account] = last;',
    replace: '',
    caughtBy: 'test/unit/gateway/stream/private/log.test.ts',
  },
  {
    name: 'what the crash left of a record is written again from its start',
    file: 'gateway/stream/private/intake.ts',
    search: 'shardSequence === logged.shardSequence ? logged.frames : 0',
    replace: '0',
    caughtBy: 'test/unit/gateway/stream/private/intake.test.ts',
  },
  {
    name: 'an answer with a key is sent before it is stored',
    file: 'gateway/http/respond.ts',
    search: 'if (stored === null) {',
    replace: 'if (stored !== undefined) {',
    caughtBy: 'test/api/transport.test.ts',
  },
  {
    name: 'a key is forgotten at a restart',
    file: 'gateway/idempotency/catchUp.ts',
    search: 'await answers.note(page.keys);',
    replace: '',
    caughtBy: 'test/api/idempotency.test.ts',
  },
];
