/** Planted faults (faults.ts) of settlement on a chain, and its contracts. */
import type { Fault } from './fault.ts';

const CONTRACTS = 'data/contracts/src';
const SETTLEMENT = 'test/unit/engine/settlement/settlement.test.ts';
const WORK = 'test/unit/engine/settlement/work.test.ts';
const MONEY = 'test/unit/engine/settlement/money.test.ts';
const ENVELOPES = 'test/unit/shared/chain/envelopes.test.ts';
const ROTATION = 'test/unit/engine/settlement/rotation.test.ts';
const FOLLOWER = 'test/chain/follower.test.ts';
const DAY = 'test/chain/day.test.ts';
const REFUSALS = 'test/chain/refusals.test.ts';
const SETTLEMENT_FILE = 'test/unit/engine/settlement/settlementFile.test.ts';

export const SETTLEMENT_FAULTS: readonly Fault[] = [
  {
    name: 'money that nobody ordered is no difference',
    file: 'engine/admin/reconcile.ts',
    search: 'if (order === undefined || !isSame(order, journaled)) {',
    replace: 'if (order !== undefined && !isSame(order, journaled)) {',
    caughtBy: 'test/hostile/forgedJournal.test.ts',
  },
  {
    name: 'an exit that the chain has paid is paid again',
    file: 'engine/settlement/chainMoney.ts',
    search: "if (row.kind === 'exit') work.addMirrored(reference);",
    replace: "if (row.kind === 'exit') work.mark;",
    caughtBy: 'test/unit/engine/settlement/money.test.ts',
  },
  {
    name: 'news of the chain are acknowledged before they are carried out',
    file: 'gateway/chain/link.ts',
    search: '      await handler(facts, number);\n',
    replace: '      void handler(facts, number);\n',
    caughtBy: 'test/unit/gateway/chain/link.test.ts',
  },
  {
    name: 'a trade that is being unwound may be tried again',
    file: 'engine/settlement/refusedTrades.ts',
    search: "    if (trade!.is_held === 1) return 'being unwound';\n",
    replace: '',
    caughtBy: 'test/unit/engine/settlement/refusedTrades.test.ts',
  },
  // Settlement on a chain: markets.
  {
    name: 'a decision is followed before its last order is closed',
    file: 'engine/settlement/follower.ts',
    search: 'if (!isDecided(words[word + MARKET.status]) || ',
    replace: 'if (words[word + MARKET.payoutYesPpm] === 0xffff_ffff || ',
    caughtBy: SETTLEMENT,
  },
  {
    name: 'claims are made before the decision, and none after it',
    file: 'engine/settlement/follower.ts',
    search: 'work.removeHolder(market, account) && work.market(market).payout_yes_ppm !== null',
    replace: 'work.removeHolder(market, account) && work.market(market).payout_yes_ppm === null',
    caughtBy: SETTLEMENT,
  },
  {
    name: 'a holder whose tokens pay nothing is not claimed for',
    file: 'engine/settlement/follower.ts',
    search: 'if (work.addHolder(market, account)) this.#need(market, this.#exchanges[shard]);',
    replace: 'this.#need(market, this.#exchanges[shard]);',
    caughtBy: SETTLEMENT,
  },
  {
    name: 'trades do not wait until the chain knows their market',
    file: 'engine/settlement/work.ts',
    search: "deploys.status NOT IN ('mined', 'final')",
    replace: "deploys.status NOT IN ('wanted', 'submitted', 'mined', 'final')",
    caughtBy: WORK,
  },
  {
    name: 'a market is decided on the chain while trades of it are not there',
    file: 'engine/settlement/drafts.ts',
    search: 'return this.#rows.hasOpenWork(market, work.id) ? null : this.#resolution(work);',
    replace: 'return this.#resolution(work);',
    caughtBy: WORK,
  },
  {
    name: 'a claim does not wait for the decision on the chain',
    file: 'engine/settlement/drafts.ts',
    search: 'if (kind === KIND.CLAIM && !this.#rows.isResolved(market)) return null;',
    replace: '',
    caughtBy: WORK,
  },
  // Another exchange contract.
  {
    name: 'work of the next contract is sent before the funds have moved',
    file: 'engine/settlement/rotation.ts',
    search: "state !== 'moved') ?? rows",
    replace: "state === 'open') ?? rows",
    caughtBy: FOLLOWER,
  },
  {
    name: 'tokens of a market that was decided move unclaimed',
    file: 'engine/settlement/rotation.ts',
    search: 'found.filter(({ decided_at }) => decided_at === number);',
    replace: 'found.filter(({ decided_at }) => decided_at === 0);',
    caughtBy: ROTATION,
  },
  {
    name: 'money that comes late to a contract stays there',
    file: 'engine/settlement/rotation.ts',
    search: '|| !isLeft(this.#row(number).state)) return;',
    replace: '|| number > 0) return;',
    caughtBy: ROTATION,
  },
  {
    name: 'funds move while a shard still trades at the old contract',
    file: 'engine/settlement/rotation.ts',
    search: 'followed.some((each) => each <= number)',
    replace: 'followed.every((each) => each <= number)',
    caughtBy: ROTATION,
  },
  // Once, whatever happens to a transaction.
  {
    name: 'a transaction is sent before it is stored',
    file: 'shared/chain/envelopes.ts',
    search: '    rows.commit(() => rows.addAttempt(nonce, attempt, bytes));\n',
    replace: '    await node.send(bytes);\n    rows.commit(() => rows.addAttempt(nonce, attempt, bytes));\n',
    caughtBy: ENVELOPES,
  },
  {
    name: 'a nonce that was reserved is given again',
    file: 'shared/chain/envelopes.ts',
    search: 'Math.max(rows.nextNonce(), this.#count)',
    replace: 'this.#count',
    caughtBy: ENVELOPES,
  },
  {
    name: 'the receipt of a block that the chain gave up is believed',
    file: 'shared/chain/envelopes.ts',
    search: 'if (block?.hash === receipt.blockHash) return receipt;',
    replace: 'if (block !== undefined) return receipt;',
    caughtBy: ENVELOPES,
  },
  {
    name: 'a transaction is final before its block is finalized',
    file: 'shared/chain/envelopes.ts',
    search: 'async step(heads: Heads): Promise<void> {\n',
    replace: 'async step({ head }: Heads): Promise<void> {\n    const heads = { head, finalized: head };\n',
    caughtBy: ENVELOPES,
  },
  {
    name: 'a transaction is final without confirmations',
    file: 'shared/chain/depth.ts',
    search: 'Math.min(finalized.number, head.number - CONFIRMATIONS + 1)',
    replace: 'Math.min(finalized.number, head.number)',
    caughtBy: ENVELOPES,
  },
  {
    name: 'the hash that was replaced is not looked for any more',
    file: 'shared/chain/envelopes.ts',
    search: 'rows.attempts(nonce).reverse()) {',
    replace: 'rows.attempts(nonce).slice(-1)) {',
    caughtBy: ENVELOPES,
  },
  {
    name: 'a reorganisation below the newest transaction is not looked for',
    file: 'shared/chain/envelopes.ts',
    search: 'newest !== undefined && (await this.#isInPlace(newest))',
    replace: 'newest !== undefined',
    caughtBy: ENVELOPES,
  },
  {
    name: 'the undo of a reorganisation is forgotten',
    file: 'engine/settlement/outcomes.ts',
    search: "if (status === 'mined' || status === 'failed') this.#rows.setStatus(id, 'submitted');",
    replace: "if (status === 'failed') this.#rows.setStatus(id, 'submitted');",
    caughtBy: DAY,
  },
  {
    name: 'a batch goes on beyond a movement of the ledger',
    file: 'engine/settlement/drafts.ts',
    search: 'if (work.kind !== KIND.TRADE || trades.length === most) break;',
    replace: 'if (trades.length === most) break;\n      if (work.kind !== KIND.TRADE) continue;',
    caughtBy: WORK,
  },
  {
    name: 'a deposit counts before it is final',
    file: 'engine/settlement/moneySide.ts',
    search: 'const final = lastSettledBlock(heads);',
    replace: 'const final = heads.head.number;',
    caughtBy: MONEY,
  },
  {
    name: 'balances are compared at a block before the last one that settles work',
    file: 'engine/settlement/moneySide.ts',
    search: 'const final = lastSettledBlock(heads);',
    replace: 'const final = lastSettledBlock(heads) - 1;',
    caughtBy: MONEY,
  },
  {
    name: 'a log that no receipt has brings money',
    file: 'engine/settlement/scanner.ts',
    search: 'if (!hasLog || receipt.blockHash',
    replace: 'if (hasLog && receipt.blockHash',
    caughtBy: MONEY,
  },
  {
    name: 'the comparison of ledger and chain leaves a token out',
    file: 'engine/settlement/reconciliation.ts',
    search: 'const BOTH = [OUTCOME.YES, OUTCOME.NO];',
    replace: 'const BOTH = [OUTCOME.YES];',
    caughtBy: FOLLOWER,
  },
  {
    name: 'sets of a market that was decided meanwhile count before the chain pays',
    file: 'engine/settlement/chainMoney.ts',
    search: '    this.#addClaim(row.account!, market, Number(row.amount), 0);\n',
    replace: '',
    caughtBy: FOLLOWER,
  },
  // The contracts, compiled anew.
  {
    name: 'the contract rounds fees up',
    file: `${CONTRACTS}/Settlement.sol`,
    search: 'order.feeRateBps * received / Orders.BPS;',
    replace: '(order.feeRateBps * received + Orders.BPS - 1) / Orders.BPS;',
    caughtBy: 'test/chain/engine.test.ts',
  },
  {
    name: 'the contract forgets earlier fills of an order',
    file: `${CONTRACTS}/Settlement.sol`,
    search: 'Fill(uint128(filled), uint128(before.usdcMicro + micro));',
    replace: 'Fill(uint128(tokens), uint128(micro));',
    caughtBy: REFUSALS,
  },
  {
    name: 'the contract settles orders that have expired long ago',
    file: `${CONTRACTS}/Settlement.sol`,
    search: 'if (order.expiration != 0 && _isLongExpired',
    replace: 'if (order.expiration == 1 && _isLongExpired',
    caughtBy: REFUSALS,
  },
  {
    name: 'the contract settles while it is paused',
    file: `${CONTRACTS}/Settlement.sol`,
    search: 'onlyRole(OPERATOR_ROLE) whenNotPaused nonReentrant {\n        if (batchDone',
    replace: 'onlyRole(OPERATOR_ROLE) nonReentrant {\n        if (batchDone',
    caughtBy: REFUSALS,
  },
  {
    name: 'the contract lets a buy and a sell of different outcomes meet',
    file: `${CONTRACTS}/Settlement.sol`,
    search: 'if (taker.tokenId != maker.tokenId) revert OrdersDoNotMeet();',
    replace: 'if (conditionOf[taker.tokenId] != conditionId) revert OrdersDoNotMeet();',
    caughtBy: REFUSALS,
  },
  {
    name: 'the contract forgets that earlier trades are settled',
    file: `${CONTRACTS}/Settlement.sol`,
    search: '_settledTrades[tradeId >> 8] = word | bit;',
    replace: '_settledTrades[tradeId >> 8] = bit;',
    caughtBy: REFUSALS,
  },
  {
    name: 'a removed delegate of the contract signs for ever',
    file: `${CONTRACTS}/Settlement.sol`,
    search: 'block.timestamp > delegateUntil[order.maker][order.signer]',
    replace: 'delegateUntil[order.maker][order.signer] == 0',
    caughtBy: REFUSALS,
  },
  {
    name: 'the contract keeps what rounding left of a payout',
    file: `${CONTRACTS}/Sets.sol`,
    search: '            _credit(feeAccount, USDC, rounding);\n',
    replace: '',
    caughtBy: 'test/chain/engine.test.ts',
  },
  {
    name: 'a wallet withdraws what is held for its orders',
    file: `${CONTRACTS}/Escrow.sol`,
    search: 'if (amount > both >> 128) revert InsufficientUnheld(account, assetId, both >> 128, amount);\n',
    replace: '',
    caughtBy: 'test/chain/invariant.test.ts',
  },
  {
    name: 'a transaction leaves for the chain before the log of the cluster holds it',
    file: 'engine/settlement/settlementFile.ts',
    search: 'put(record);\n        this.#awaitHeld(record);',
    replace: 'put(record);',
    caughtBy: SETTLEMENT_FILE,
  },
  {
    name: 'the next settlement thread forgets what the one before has given to the log',
    file: 'engine/settlement/settlementFile.ts',
    search: 'if (last !== null && last.sequence > recorded.sequence) {',
    replace: 'if (last !== null && last.sequence < recorded.sequence) {',
    caughtBy: SETTLEMENT_FILE,
  },
  {
    name: 'what members derive has the time of each',
    file: 'engine/settlement/settlementFile.ts',
    search: 'this.#derivedMs ?? this.#options.nowMs()',
    replace: 'this.#options.nowMs()',
    caughtBy: SETTLEMENT_FILE,
  },
  {
    name: 'a file is committed before the log holds its record',
    file: 'shared/records/recordedFile.ts',
    search: 'if (record !== null) this.#hold?.(record);',
    replace: '',
    caughtBy: 'test/unit/shared/records/recordedFile.test.ts',
  },
  {
    name: 'a transfer of the relayer that is tried again leaves before the log of the cluster holds it',
    file: 'gateway/fiat/relayer.ts',
    search: 'await sessions.durable();\n      // RELAYER-5',
    replace: '// RELAYER-5',
    caughtBy: 'test/unit/gateway/fiat/relayer.test.ts',
  },
];
