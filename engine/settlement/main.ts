/**
 * Entry point of the settlement thread. It may end at any moment: the next thread continues from settlement.db. If the
 * node does not answer or is on the wrong chain, nothing is sent; the journals are still followed, and the gateway
 * still receives the state of settlement every second. On a standby of a cluster it applies the leader's records and
 * watches the chain until it is asked to lead.
 */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { NICE_FOLLOWER, stepBack } from '../../shared/base/background.ts';
import { checkedHex, type Hex, lowerHex } from '../../shared/base/hex.ts';
import { chainKey } from '../../shared/chain/key.ts';
import { ChainNode } from '../../shared/chain/node.ts';
import { openNodes } from '../../shared/chain/nodes.ts';
import { Relay } from '../../shared/chain/relay.ts';
import { RelayToken } from '../../shared/chain/relayToken.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import { RecordError } from '../../shared/records/bytes.ts';
import type { ChainAsk } from '../../shared/wire/chainQuestions.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { Replication } from '../../shared/wire/replication.ts';
import type {
  FollowedRow,
  SettlementHealth,
  SettlementMessage,
  SettlementOptions,
  SettlementRequest,
} from '../../shared/wire/threads.ts';
import { ShardKey } from '../journal/shardKey.ts';
import { ChainChecks } from './checks.ts';
import { Desk } from './desk.ts';
import { CannotFollow } from './follower.ts';
import { moneyHandlers } from './moneyDesk.ts';
import { News } from './news.ts';
import { Permits } from './permits.ts';
import { RefusedTrades } from './refusedTrades.ts';
import { Settlement } from './settlement.ts';
import { openSettlementDb } from './settlementDb.ts';
import { SettlementFile } from './settlementFile.ts';

/** A chain produces a block about every two seconds. */
const PAUSE_MS = 1000;
const REPORT_MS = 1000;
/** A start waits for the journals, so the thread looks for them more often. */
const CONNECT_MS = 50;
/** Rows of the log wait for the journals from which they are derived. */
const JOURNAL_MS = 2;
const AHEAD = 'the chain has trades that the journals do not have: the data directory is older than the chain';

stepBack(NICE_FOLLOWER);
const given: SettlementOptions = workerData;
const { keys, ...options } = await ShardKey.forAll(given);
const lower = (address: string): Hex => lowerHex(checkedHex(address));
const { operatorKey, resolverKey, deployerKey, permitKey } = options;
const [operator, resolver, deployer, permit] = [operatorKey, resolverKey, deployerKey, permitKey].map(chainKey);
const relayer = options.relayerKey === null ? null : chainKey(options.relayerKey);
const payer =
  options.payerKey === null ? null : { key: chainKey(options.payerKey), contract: lower(options.paymentsAddress!) };
const contracts = {
  exchange: lower(options.exchangeAddress),
  marketFactory: lower(options.marketFactoryAddress),
  usdc: lower(options.usdcAddress),
  conditionalTokens: lower(options.ctfAddress),
  resolutions: lower(options.resolutionsAddress),
};
const progress = new Progress(options.progress);
const nodes = openNodes(options.rpcUrl);
const node = new ChainNode(nodes);
const { cluster } = options;
const file = new SettlementFile({
  db: openSettlementDb(options.settlementDbPath),
  memory: cluster && new Replication(cluster.memory),
  nowMs: () => Date.now(),
  onWaiting: reportWaiting,
});
const { database: db, nowMs } = file;
const news = new News(db, nowMs);
const settlement = new Settlement({
  ...{ ...options, db, node, contracts, news, progress, keys, nowMs },
  key: operator,
  resolverKey: resolver,
  deployerKey: deployer,
  payer,
  follow: (shard, sequence) => file.follow(shard, sequence),
});
file.attach((shard, sequence) => settlement.derive(shard, sequence));
const setup = {
  ...contracts,
  chainId: options.chainId,
  payments: payer?.contract ?? null,
  movementFeeMicro: options.movementFeeMicro,
  keys: {
    OPERATOR: operator.address,
    RESOLVER: resolver.address,
    PAYER: payer?.key.address ?? null,
    DEPLOYER: deployer.address,
    PERMIT: permit.address,
    RELAYER: relayer?.address ?? null,
  },
};
/** The desk's node has its own queue of calls, so that users' questions do not delay settlement. */
const deskNode = new ChainNode(openNodes(options.rpcUrl));
const relay = new Relay({ ...options, node: deskNode, key: relayer, usdc: contracts.usdc, nowMs });
const checks = new ChainChecks(node, setup, nowMs);
const refused = new RefusedTrades(db, settlement.rows, () => settlement.follow());
const token = new RelayToken(deskNode, contracts.usdc, options.chainId);
const permits = new Permits({ node: deskNode, key: permit, chainId: options.chainId, token });
const isFollowing = (): boolean => file.isFollowing;
const money = moneyHandlers(settlement.money, settlement.rows, settlement.payments, permits, () => settlement.follow());
const desk = new Desk(
  { node: deskNode, contracts, news, relay, refused, settlement, money, checks, isFollowing },
  (reply) => post({ reply }),
);
/** Rows of the log, in order, that are not applied yet. */
const rows: FollowedRow[] = [];
/** Called when rows have arrived, and when nothing more is waited for. */
let onRows = (): void => {};
/** The gateway aborts this signal once every row is applied and this member may lead. */
const mayLead = new AbortController();
const stopping = new AbortController();
/** Null until the chain has been asked. */
let isAhead: boolean | null = null;
let problem: string | null = 'the node was not asked yet';
/** The last report to the gateway, and its time. */
let latest: SettlementHealth | null = null;
let reportedMs = 0;

parentPort?.on('message', (message: ChainAsk | SettlementRequest) => {
  if (message === 'stop') stopping.abort();
  else if (message === 'lead') mayLead.abort();
  else if ('rows' in message) rows.push(...message.rows);
  else if (!stopping.signal.aborted) void desk.answer(message).then(sendNews);
  onRows();
});
try {
  if (cluster !== null) post({ applied: file.sequence });
  await connect();
  const reports = setInterval(report, REPORT_MS);
  if (cluster !== null) await lead(cluster.leads);
  while (!stopping.signal.aborted) {
    problem = await round();
    report();
    await pause(PAUSE_MS);
  }
  clearInterval(reports);
} catch (error) {
  if (!(error instanceof CannotFollow || error instanceof RecordError)) throw error;
  post({ refusal: error.message });
}
settlement.close();
db.close();
parentPort?.close();

async function connect(): Promise<void> {
  while (!settlement.connect() && !stopping.signal.aborted) await pause(CONNECT_MS);
  if (!stopping.signal.aborted) post({ connected: true });
}

/** Resolves once this member leads or the thread has to stop. */
async function lead(before: { readonly last: FollowedRow | null } | null): Promise<void> {
  if (before === null) {
    void lookAtChain();
    await applyRows();
  }
  if (stopping.signal.aborted) return;
  const layout = new Replication(cluster!.memory).format('settlement');
  file.lead((record) => post({ record }), before?.last ?? null, layout);
  settlement.lead();
}

/** Applies the rows of the log as they come. */
async function applyRows(): Promise<void> {
  while (!mayLead.signal.aborted && !stopping.signal.aborted) {
    const [row] = rows;
    if (row === undefined) await new Promise<void>((resolve) => (onRows = resolve));
    else if (file.apply(row, progress)) {
      rows.shift();
      noteFollowed();
      post({ applied: file.sequence });
      await nextTurn();
    } else await pause(JOURNAL_MS);
  }
}

/** A standby asks the node too, so that the state of the chain is known when it becomes the leader. */
async function lookAtChain(): Promise<void> {
  while (!mayLead.signal.aborted && !stopping.signal.aborted) {
    problem = await answered(async () => {
      const found = settlement.rotation.isKnown ? await checks.step(settlement.exchanges) : null;
      await settlement.look();
      return found;
    });
    await pause(PAUSE_MS);
  }
}

/** @returns the reason why the round ended early, or null */
function round(): Promise<string | null> {
  return answered(async () => {
    await follow();
    const found = await checks.step(settlement.exchanges);
    if (found !== null) return found;
    isAhead ??= await settlement.isChainAhead();
    if (isAhead) return AHEAD;
    await settlement.step();
    return null;
  });
}

/** @returns the answer, or the node's failure */
async function answered(ask: () => Promise<string | null>): Promise<string | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof NodeUnreachable || error instanceof RpcError) return error.message;
    throw error;
  }
}

/** Questions are answered between two stretches. */
async function follow(): Promise<void> {
  while (settlement.follow() && !stopping.signal.aborted) {
    noteFollowed();
    await nextTurn();
  }
  noteFollowed();
}

function noteFollowed(): void {
  for (let shard = 0; shard < progress.shards; shard++) progress.setSettled(shard, settlement.followed(shard));
}

/** A standby reports nothing before the first record of a leader: it does not know the contract yet. */
function report(): void {
  if (!settlement.rotation.isKnown) return;
  const { balances } = checks;
  latest = settlement.health({ problem, balances, nodes: nodes.health });
  reportedMs = Date.now();
  post({ health: latest });
  sendNews();
}

/** The database is inside a transaction, so it is not queried. */
function reportWaiting(): void {
  const nowMs = Date.now();
  if (latest === null || nowMs - reportedMs < REPORT_MS) return;
  reportedMs = nowMs;
  post({ health: { ...latest, isWaitingForLog: true } });
}

function sendNews(): void {
  if (file.isFollowing) return;
  for (const each of news.due()) post({ news: each });
}

function post(message: SettlementMessage): void {
  parentPort?.postMessage(message);
}

async function pause(ms: number): Promise<void> {
  await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
}
