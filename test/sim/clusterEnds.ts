/** The end of a simulated cluster: a server of the database takes over that lacks a lead, or rows. */
import assert from 'node:assert/strict';
import type { LogRow } from '../../shared/wire/replication.ts';
import type { FakeDatabase } from '../support/fakeDatabase.ts';
import { promisesKept } from '../support/manualTiming.ts';
import type { SimMember } from './clusterMember.ts';

const LOSS_STEPS = 300;
const LOSS_TURNS = 2000;
const MOST_STEPS = 200_000;

export type EndingWorld = {
  readonly database: FakeDatabase;
  readonly members: readonly SimMember[];
  /** A step in which anything may fail. */
  step(): Promise<void>;
  passTime(): void;
  note(line: string): void;
  where(): string;
};

/** CLUSTER-6: a standby takes the lease, and leads; then a server takes over that does not know of this lead. */
export async function loseLead(world: EndingWorld): Promise<void> {
  const { database, members } = world;
  database.replicate(1);
  const { epoch } = database;
  const standbys = members.filter(({ role }) => role === 'standby');
  await passUntil(world, standbys, () => database.epoch > epoch);
  const { holder } = database.lease();
  const former = standbys.find(({ name }) => name === holder)!;
  await passUntil(world, [former], () => former.epoch > epoch);
  world.note(`${former.name} takes the lead of epoch ${former.epoch}, which is lost`);
  database.failOver('other');
  const others = standbys.filter((member) => member !== former);
  // Each of the two would have to end and to answer (MAYTAKE-1): an operator gives them up.
  for (const member of members) if (!others.includes(member)) database.leave(member.name);
  await passUntil(world, others, () => database.epoch >= former.epoch);
  world.note(`${former.name} has the lead of epoch ${former.epoch}, and so does another one`);
  for (let turns = 0; turns < LOSS_STEPS; turns++) await pass(world, members);
  assert.equal(former.role, 'lost', `CLUSTER-6: one of them ends: ${world.where()}`);
  const { holder: next } = database.lease();
  const isLed = members.some(({ name, role }) => name === next && role === 'leader');
  assert.ok(isLed, `CLUSTER-6: the other one goes on: ${world.where()}`);
}

/** CLUSTER-5. */
export async function loseRows(world: EndingWorld): Promise<void> {
  const { database, members } = world;
  for (let steps = 0; steps < LOSS_STEPS || !hasMuchToLose(world); steps++) {
    assert.ok(steps < MOST_STEPS, `a cluster with one standby of the database goes on: ${world.where()}`);
    await world.step();
  }
  const before = database.readAfter(0, Number.POSITIVE_INFINITY);
  // Facts are of rows that are never lost.
  database.onHeld = () => {};
  database.failOver('other');
  const lost = before.filter(({ position }) => position > database.end);
  const having = members.flatMap((member) => {
    const rows = lost.filter((row) => member.holds(row));
    return rows.length === 0 ? [] : { member, rows, heldRows: member.heldRows };
  });
  assert.ok(having.length > 0, 'a member holds rows that are lost');
  world.note(`a standby takes over that lacks ${lost.length} rows after ${database.end}`);
  const isBack = (row: LogRow): boolean => isSameRow(database.rowOf(row.stream, row.sequence), row);
  const isSafe = ({ member, rows }: (typeof having)[number]) => member.role === 'lost' || rows.every(isBack);
  for (let turns = 0; !having.every(isSafe); turns++) {
    assert.ok(turns < LOSS_TURNS, `CLUSTER-5: members that have lost rows stop: ${world.where()}`);
    await pass(world, members);
  }
  for (const { member, heldRows } of having) {
    if (member.role === 'lost') assert.equal(member.heldRows, heldRows, 'CLUSTER-5: it holds nothing more');
  }
}

/** A leader has rows that one standby of the database lacks. */
function hasMuchToLose({ database, members }: EndingWorld): boolean {
  const [row] = database.readAfter(database.safe, 1);
  return row !== undefined && members.some((member) => member.role === 'leader' && member.holds(row));
}

async function passUntil(world: EndingWorld, members: readonly SimMember[], isDone: () => boolean): Promise<void> {
  for (let turns = 0; !isDone(); turns++) {
    assert.ok(turns < LOSS_TURNS, `a lease that ends is taken: ${world.where()}`);
    await pass(world, members);
  }
}

async function pass(world: EndingWorld, members: readonly SimMember[]): Promise<void> {
  world.passTime();
  for (const member of members.filter(({ isUp }) => isUp)) {
    member.tick();
    await promisesKept();
    member.log.settle();
    world.database.replicate(0);
    await promisesKept();
    member.turn();
  }
}

function isSameRow(row: LogRow | null, other: LogRow): boolean {
  return row !== null && row.position === other.position && Buffer.from(row.bytes).equals(other.bytes);
}
