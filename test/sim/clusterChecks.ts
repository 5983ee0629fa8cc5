/** The comparisons of a simulated cluster: of its members with each other, and of its leader with the oracles. */
import assert from 'node:assert/strict';
import { checkInvariants } from '../../engine/core/invariants.ts';
import type { Row } from '../../engine/journal/row.ts';
import { stateOf } from '../support/engine.ts';
import { assertAgreement } from './agreement.ts';
import { rowsOf } from './clusterKnown.ts';
import type { SimMember } from './clusterMember.ts';
import type { ClusterShard } from './clusterShard.ts';
import { marketOf } from './command.ts';
import type { Conversation } from './conversation.ts';
import { ACCOUNTS, type Flow } from './flow.ts';
import type { Oracle } from './oracle.ts';

export const HOLDERS: readonly number[] = [0, ...ACCOUNTS];

/** The exchange of records with one shard. */
export type Talk = { oracle: Oracle; readonly flow: Flow; readonly conversation: Conversation };

/** Every command is answered, and all members have followed. */
export function compareAll(leader: SimMember, members: readonly SimMember[], talks: readonly Talk[]): void {
  for (const shard of leader.shards) {
    const talk = talks[shard.shard]!;
    talk.conversation.pause();
    assertAgrees(shard, talk, talks.length);
    const state = stateOf(shard.engine);
    const rows = rowsOf(shard);
    for (const other of members) {
      const twin = other.shards[shard.shard]!;
      assert.deepEqual(stateOf(twin.engine), state, `CLUSTER-3: the state of shard ${shard.shard} of ${other.name}`);
      assertSameRows(rowsOf(twin), rows, `CLUSTER-3: the journal of shard ${shard.shard} of ${other.name}`);
    }
  }
  for (const member of members) {
    assert.equal(member.filesProblem, null, `FILEENDS-1: the files of ${member.name} agree with the log`);
    assert.deepEqual(member.gatewayRows(), leader.gatewayRows(), `CLUSTER-3: the stores of ${member.name}`);
  }
  for (const [index, account] of HOLDERS.entries()) {
    const net = leader.shards.reduce((sum, { heldNets }) => sum + heldNets[index]!, 0);
    assert.equal(leader.balances.availableMicro(account), net, `CLUSTER-2: account ${account}`);
  }
}

export function assertAgrees(shard: ClusterShard, { oracle, conversation }: Talk, shards: number): void {
  checkInvariants(shard.engine.state);
  const { events } = conversation;
  const toIndex = (market: number): number => marketOf(shard.shard, shards, market);
  assertAgreement(shard.engine, oracle, (market) => events.frameOf(market), toIndex);
}

/** CLUSTER-2. */
export function checkCells(members: readonly SimMember[]): void {
  for (const member of members) {
    if (member.role !== 'leader' && member.role !== 'lost') continue;
    for (const [index, account] of HOLDERS.entries()) {
      const cell = member.balances.availableMicro(account);
      const held = member.shards.reduce((sum, { heldNets }) => sum + (heldNets[index] ?? 0), 0);
      assert.ok(cell >= 0 && cell <= held, `CLUSTER-2: account ${account} can spend ${cell}, held are ${held}`);
    }
  }
}

/** Members trim at different times: what both have is compared, up to the same end. */
function assertSameRows(rows: readonly Row[], others: readonly Row[], what: string): void {
  const count = Math.min(rows.length, others.length);
  assert.deepEqual(rows.slice(rows.length - count), others.slice(others.length - count), what);
}
