/** Problems of what stands beside this process: the members of its cluster with their log, and the chain. */
import type { Operations } from '../../../../shared/client/types.ts';
import { amountOf, bytes, count, seconds } from './numbers.ts';
import { boundOf, noted, type Problem, ringing } from './problem.ts';

/** Members report each second; one that is silent for longer counts as away. */
const MEMBER_SILENT_SEC = 10;

export function clusterProblems({ cluster }: Operations): Problem[] {
  if (cluster === null) return [];
  const { leader, log, members, stale_seconds: stale } = cluster;
  const found: Problem[] = [];
  if (leader === null) found.push(ringing('NoLeader', 'Members', 'No member leads: changes are refused.'));
  if (log.problem !== null) {
    found.push(ringing('LogStalled', 'Members', `The log does not answer as it should: ${log.problem}.`));
  }
  if (log.oldest_wait_seconds > boundOf('LogStalled')) {
    found.push(ringing('LogStalled', 'Members', `Rows wait for the log for ${seconds(log.oldest_wait_seconds)}.`));
  }
  if (log.bytes > boundOf('LogGrows')) {
    found.push(ringing('LogGrows', 'Members', `The log takes ${bytes(log.bytes)} of its database.`));
  }
  if (stale !== null && stale > boundOf('StandbyStale')) {
    found.push(ringing('StandbyStale', 'Members', `This standby shows what was true ${seconds(stale)} ago.`));
  }
  const answering = members.filter(({ silent_seconds: silent }) => silent < MEMBER_SILENT_SEC);
  if (!answering.some(({ role }) => role === 'standby')) {
    found.push(ringing('NoStandby', 'Members', 'No standby answers that could take over.'));
  }
  for (const { member, behind_rows: behind, problem } of answering) {
    if (problem !== null) {
      found.push(ringing('NoStandby', 'Members', `${member} does not agree with the log: ${problem}.`, member));
    }
    if ((behind ?? 0) > boundOf('StandbyBehind')) {
      found.push(ringing('StandbyBehind', 'Members', `${member} is ${behind} rows behind the log.`, member));
    }
  }
  if (new Set(answering.map(({ version }) => version)).size > boundOf('VersionsDiffer')) {
    found.push(ringing('VersionsDiffer', 'Members', 'Members run different versions.'));
  }
  return [...found, ...databaseProblems(cluster)];
}

/** Standbys that commits can wait for; a user of the database who may not see their states knows of none. */
function databaseProblems({ database }: NonNullable<Operations['cluster']>): Problem[] {
  if (database === null || database.standbys.some(({ state }) => state === null)) return [];
  const held = database.standbys.filter(({ state, sync_state: sync }) => {
    return state === 'streaming' && (sync === 'sync' || sync === 'quorum');
  }).length;
  if (held >= boundOf('DatabaseStandbyAway')) return [];
  const left = held === 0 ? 'no standby' : 'one standby alone';
  return [ringing('DatabaseStandbyAway', 'Members', `The database has ${left}: without it nothing is accepted.`)];
}

export function settlementProblems({ settlement }: Operations): Problem[] {
  if (settlement === null) return [];
  const { refused_payments: payments, foreign_nonces: nonces } = settlement;
  const { reason, problem, differences, failed_trades: failed, at_most_fee: isAtMostFee, low_keys: low } = settlement;
  const found: Problem[] = [];
  if (reason !== null) {
    found.push(ringing('SettlementUnhealthy', 'Chain', `Settlement refuses orders: ${reason}.`));
  }
  if (problem !== null && problem !== reason) {
    found.push(ringing('SettlementUnhealthy', 'Chain', `The chain is not used: ${problem}.`));
  }
  for (const { node, state, reason: cause } of settlement.nodes) {
    if (state === 'well') continue;
    const text = `Node ${node} of RPC_URL is not as the others (${state}): ${cause}.`;
    found.push(ringing('NodeNotWell', 'Chain', text, node));
  }
  if (differences > 0) {
    found.push(ringing('ChainDiffers', 'Chain', `Ledger and chain differ in ${differences} balances.`));
  }
  if (payments > boundOf('PaymentRefused')) {
    const name = payments >= boundOf('PaymentsRefused') ? 'PaymentsRefused' : 'PaymentRefused';
    found.push(ringing(name, 'Chain', `The chain refuses payments of ${amountOf(payments, 'account')}.`));
  }
  if (settlement.behind_records > boundOf('SettlementBehind')) {
    const text = `Settlement has ${count(settlement.behind_records)} records of the journals still to read.`;
    found.push(ringing('SettlementBehind', 'Chain', text));
  }
  if (nonces > 0) {
    // The alert rings for one of the last hour; how long ago the last one was is not in a report.
    const text = `Nonces of the exchange's keys that another program has used since the start: ${nonces}.`;
    found.push({ ...ringing('ForeignNonces', 'Chain', text), level: 'warn' });
  }
  if (failed > 0) {
    const text = `Trades that the contract refuses: ${failed}. They have to be undone.`;
    found.push(ringing('TradesFailed', 'Chain', text));
  }
  if (isAtMostFee) {
    found.push(ringing('FeeAtMost', 'Chain', 'A transaction waits for fees above MOST_FEE_GWEI.'));
  }
  if (low.length > 0) {
    found.push(ringing('KeyLow', 'Chain', `Keys with little left for gas: ${low.join(', ')}.`));
  }
  return [...found, ...moveProblems(settlement), ...decisionProblems(settlement)];
}

type Settlement = NonNullable<Operations['settlement']>;

function moveProblems({ move }: Settlement): Problem[] {
  if (move === null) return [];
  const text = `Funds move to another contract (${move.state}) for ${seconds(move.seconds)}: ${move.left} left.`;
  if (move.seconds > boundOf('FundsDoNotMove')) return [ringing('FundsDoNotMove', 'Chain', text)];
  return [noted('Chain', text, 'funds-do-not-move')];
}

function decisionProblems({ decisions }: Settlement): Problem[] {
  const found = decisions.foreign.map(({ market_id, proposal, payouts, is_carried_out: isDone }) => {
    const what = `proposal ${proposal} pays ${payouts.join(' and ')} millionths in market ${market_id}`;
    const text = isDone
      ? `The chain has decided otherwise than the exchange: ${what}.`
      : `Not proposed by the exchange, and takes effect unless it is vetoed: ${what}.`;
    return ringing('ForeignProposal', 'Chain', text, proposal);
  });
  if (decisions.may_propose) return found;
  const text = 'RESOLVER_KEY may not propose: decisions of markets wait for another key.';
  return [...found, ringing('DecisionsHeld', 'Chain', text)];
}
