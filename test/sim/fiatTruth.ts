/**
 * The truth of a fiat world at its end, computed as naively as possible: from the movements on the rail, the rows of
 * the exchange and of the provider, and a table of states of its own.
 */
import assert from 'node:assert/strict';
import type { FiatSession } from '../../gateway/fiat/fiatSessionsStore.ts';
import { template } from './fiatExchange.ts';
import { CUSTOMERS, type MovedRow, PROVIDER } from './fiatRail.ts';
import type { FiatWorld, KnownSession } from './fiatWorld.ts';

type Deal = { id: string; kind: string; reference: string; wallet: string; amount: number; status: string };

type Arrival = { tx_hash: string; deal_id: string | null };

/** Times of RULES.md 16.8, 16.12 and 16.20. */
const LAUNCH_WAIT_MS = 3_600_000;
const SIGNING_SEC = 60;
/** Causes that a transfer has to be final for. */
const MADE_FINAL = ['transfer_final', 'funding_verified', 'deposit_credited'];
const RANK = ['initiated', 'awaiting_quote', 'created', 'processing'];
const ENDS = ['completed', 'failed', 'expired', 'cancelled'];
/** Which state may follow which, by the documents and not by the code. */
const FOLLOWS: Readonly<Record<string, readonly string[]>> = {
  awaiting_provider: ['waiting_for_wallet', 'recoverable_error', 'expired'],
  waiting_for_wallet: ['submission_pending', 'provider_funding_reconciling', 'expired'],
  submission_pending: ['submitted_on_chain', 'recoverable_error', 'provider_funding_reconciling', 'expired'],
  submitted_on_chain: ['confirmed', 'expired', 'recoverable_error'],
  provider_funding_reconciling: ['confirmed', 'waiting_for_wallet', 'submission_pending'],
  confirmed: ['provider_processing', 'complete', 'recoverable_error'],
  provider_processing: ['complete', 'recoverable_error'],
  recoverable_error: [
    'awaiting_provider',
    'waiting_for_wallet',
    'submission_pending',
    'submitted_on_chain',
    'confirmed',
    'provider_processing',
  ],
  expired: ['complete'],
  complete: [],
};

export function assertTrue(world: FiatWorld): void {
  const rail = world.rail.moved();
  assertMoney(world, rail);
  assertProvider(world, rail);
  for (const session of sessionsOf(world)) {
    assertSteps(world, session);
    assertTimes(world, session);
    if (session.kind === 'onramp') assertCashIn(world, session, rail);
    else assertCashOut(world, session, rail);
  }
  for (const known of world.known) assertAnswers(world, known);
  assert.deepEqual(
    world.log.filter((line) => line.startsWith('!')),
    [],
  );
}

function assertMoney({ rail }: FiatWorld, moved: readonly MovedRow[]): void {
  rail.assertMoney();
  const nonces = moved.map(({ from, nonce }) => `${from} ${nonce}`);
  assert.equal(new Set(nonces).size, nonces.length, 'a transfer moves money once');
}

/** The provider has paid and sent exactly what it owed, each once. */
function assertProvider({ provider }: FiatWorld, moved: readonly MovedRow[]): void {
  const { store } = provider;
  const all = <T>(sql: string): T[] => store.query(sql) as T[];
  const bank = new Map(
    all<{ deal_id: string; act: string; amount_micro: number }>('SELECT * FROM bank').map((row) => [
      `${row.act} ${row.deal_id}`,
      row.amount_micro,
    ]),
  );
  const arrivals = all<{ tx_hash: string; value_micro: number; deal_id: string | null; state: string }>(
    'SELECT * FROM arrivals',
  );
  const transfers = all<{ nonce: string; purpose: string; subject: string; state: string }>(
    "SELECT * FROM transfers WHERE state = 'final'",
  );
  const sentNonces = moved.filter(({ from }) => from === PROVIDER).map(({ nonce }) => nonce);
  assert.deepEqual(
    transfers.map(({ nonce }) => nonce).sort(),
    sentNonces.sort(),
    'the provider knows what it has sent',
  );
  const received = moved.filter(({ to }) => to === PROVIDER).map(({ tx_hash }) => tx_hash);
  assert.deepEqual(arrivals.map(({ tx_hash }) => tx_hash).sort(), received.sort(), 'and what has arrived');
  for (const deal of dealsOf(provider.store)) {
    const delivered = transfers.some(({ purpose, subject }) => purpose === 'deliver' && subject === deal.id);
    const [taken, back, paid] = ['taken', 'given_back', 'paid_out'].map((act) => bank.has(`${act} ${deal.id}`));
    const arrival = arrivals.find(({ deal_id }) => deal_id === deal.id);
    if (deal.kind === 'onramp') {
      assert.equal(delivered, taken && !back, `USDC against a payment: ${deal.id}`);
      assert.equal(deal.status === 'success', delivered);
    } else {
      assert.equal(paid, deal.status === 'success', `a payment against USDC: ${deal.id}`);
      if (paid) assert.deepEqual([arrival!.value_micro, arrival!.state], [deal.amount, 'kept']);
      if (deal.status === 'refunded') assert.equal(arrival!.state, 'returned');
    }
  }
}

/** The states of a session go forward. */
function assertSteps({ exchange }: FiatWorld, session: FiatSession): void {
  let [status, transfer, isErrorOf] = ['', '', ''];
  for (const { subject, fromState, toState, cause } of exchange.fiat.sessions.transitionsOf(session.id)) {
    const said = `${session.id} ${subject} ${fromState} → ${toState} by ${cause}`;
    if (fromState === toState) continue;
    if (subject === 'status') {
      assert.equal(fromState ?? '', status, said);
      const isLate = ENDS.includes(status) && status !== 'completed' && toState === 'completed';
      const isForward = ENDS.includes(toState) ? !ENDS.includes(status) : RANK.indexOf(toState) > RANK.indexOf(status);
      assert.ok(isForward || isLate, said);
      status = toState;
    } else {
      assert.equal(fromState ?? '', transfer, said);
      assert.ok(transfer === '' || FOLLOWS[transfer].includes(toState), said);
      if (transfer === 'recoverable_error') assert.equal(toState, isErrorOf, said);
      if (toState === 'recoverable_error') isErrorOf = transfer;
      transfer = toState;
    }
  }
  assert.equal(session.status, status);
  assert.equal(session.transferState ?? '', transfer);
}

/** Nothing is called over or final before its time, and nothing is signed too late to be carried out. */
function assertTimes({ exchange, rail }: FiatWorld, session: FiatSession): void {
  const intent = exchange.fiat.transfers.intentOf(session.id);
  const endMs = intent === undefined ? session.createdMs + LAUNCH_WAIT_MS : session.deadlineMs!;
  for (const { cause, evidence, atMs } of exchange.fiat.sessions.transitionsOf(session.id)) {
    const said = `${session.id} ${cause} at ${atMs} by ${evidence}`;
    const { tx_hash: hash, expires_ms: expiresMs } = JSON.parse(evidence ?? '{}');
    if (cause === 'authorized') assert.ok(atMs / 1000 + SIGNING_SEC < intent!.validBeforeSec, said);
    if (cause === 'time_is_over') assert.ok(atMs >= (intent?.validBeforeSec ?? endMs / 1000) * 1000, said);
    if (expiresMs !== undefined) assert.ok(atMs >= endMs, said);
    if (!MADE_FINAL.includes(cause)) continue;
    if (evidence === null) continue;
    assert.ok(rail.wasFinal(hash, atMs), said);
  }
}

function assertCashIn(world: FiatWorld, session: FiatSession, rail: readonly MovedRow[]): void {
  const claims = world.exchange.fiat.transfers.claimsOf(session.id);
  const [credited] = rail.filter(({ tx_hash }) => tx_hash === claims[0]);
  assert.ok(claims.length <= 1, `one deposit for a session: ${session.id}`);
  const isPaid = credited !== undefined && world.rail.isCredited(credited.tx_hash, session.id);
  assert.equal(session.status === 'completed', isPaid, `a cash-in and its deposit: ${session.id}`);
  if (isPaid) assert.equal(credited.to, session.walletAddress);
  if (world.hasLied) return;
  const deals = dealsOf(world.provider.store).filter(({ reference }) => reference === session.partnerReference);
  const isSold = deals.some(({ status }) => status === 'success');
  assert.equal(session.status === 'completed', isSold, `a cash-in and its purchase: ${session.id}`);
}

function assertCashOut(world: FiatWorld, session: FiatSession, rail: readonly MovedRow[]): void {
  const { transfers } = world.exchange.fiat;
  const intent = transfers.intentOf(session.id);
  const own = rail.filter(({ nonce }) => nonce === intent?.nonce);
  assert.ok(own.length <= 1, `one relayed transfer: ${session.id}`);
  if (own.length === 1) {
    assert.ok(intent!.signature !== null, `signed before it moves: ${session.id}`);
    assert.deepEqual([own[0].from, own[0].to, own[0].value], [session.walletAddress, intent!.to, intent!.valueMicro]);
    assert.notEqual(session.status, 'cancelled', session.id);
    const isKnown = ['confirmed', 'provider_processing', 'complete'].includes(session.transferState!);
    assert.ok(
      isKnown || session.errorCause === 'provider_failed' || session.alarm !== null,
      `paid and known: ${session.id}`,
    );
  }
  if (session.status === 'cancelled') assert.equal(intent?.signature ?? null, null);
  const claims = transfers.claimsOf(session.id);
  assert.ok(claims.length <= 1, `one payment for a session: ${session.id}`);
  const [paidBy] = rail.filter(({ tx_hash }) => tx_hash === claims[0]);
  if (paidBy !== undefined) {
    assert.deepEqual([paidBy.from, paidBy.to, paidBy.value], [session.walletAddress, intent!.to, intent!.valueMicro]);
  }
  if (session.status === 'completed')
    assert.ok(paidBy !== undefined || session.alarm !== null, `completed and paid: ${session.id}`);
  const isSettled = ENDS.includes(session.status) || session.alarm !== null;
  assert.ok(
    isSettled,
    `comes to an end: ${session.id} ${session.status} ${session.transferState} ${session.errorCause}`,
  );
  if (world.hasLied) return;
  const deals = dealsOf(world.provider.store).filter(({ reference }) => reference === session.partnerReference);
  const isSold = deals.some(({ status }) => status === 'success');
  if (session.status === 'completed') assert.ok(isSold, `completed and sold: ${session.id}`);
  // A provider that counts the transfer for a sale of another session is for an operator to see.
  const arrivals = world.provider.store.query('SELECT tx_hash, deal_id FROM arrivals') as Arrival[];
  const paidFor = arrivals.find(({ tx_hash }) => tx_hash === own[0]?.tx_hash)?.deal_id;
  const isPaidOut = deals.some(({ id, status }) => id === paidFor && status === 'success');
  const isKnown = session.status === 'completed' || (session.alarm !== null && !isPaidOut);
  if (isSold && own.length === 1) assert.ok(isKnown, `sold and completed: ${session.id}`);
}

/** Every answer to a customer holds, whatever has crashed since. */
function assertAnswers({ exchange }: FiatWorld, known: KnownSession): void {
  const session = exchange.fiat.service.find(template.accounts[known.customer], known.id, known.kind);
  assert.ok(session !== null, `a session that was answered is there: ${known.id}`);
  const intent = exchange.fiat.transfers.intentOf(known.id);
  if (known.isSigned) assert.ok(intent?.signature, `a signature that was kept is there: ${known.id}`);
  if (known.isCancelled)
    assert.equal(intent?.signature ?? null, null, `a cancelled session has no signature: ${known.id}`);
  assert.ok(!(known.isSigned && known.isCancelled), known.id);
  assert.equal(
    exchange.fiat.service.find(template.accounts[CUSTOMERS.length - 1 - known.customer], known.id, null),
    null,
  );
}

function sessionsOf({ exchange }: FiatWorld): FiatSession[] {
  return exchange.fiat.sessions.recent(100, 0).map(({ id }) => exchange.fiat.sessions.find(id)!);
}

function dealsOf(store: FiatWorld['provider']['store']): Deal[] {
  return store.query('SELECT id, kind, reference, wallet, amount_micro AS amount, status FROM deals') as Deal[];
}
