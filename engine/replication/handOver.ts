/**
 * A hand-over: the lead passes in an orderly way from the leader to a member that an operator names. Operator, leader
 * and member communicate only through the log, so it also works while no leader answers.
 *
 *   operator ──asks──► log ──► the member accepts: it answers, and is not far behind
 *                       └────► the leader ends as at a planned stop: it accepts nothing more, its last rows are held,
 *                              and its lease ends. For a while only the named member may take the lease.
 *
 * Invariants:
 *   HANDOVER-1  It concerns one lead: once the epoch has changed, it has no effect.
 *   HANDOVER-2  A leader ends only for a member that has accepted a moment before, and not for one that takes the lease
 *               by force: then the leader continues until it loses the lease, even if the other member ends before
 *               taking it.
 */

import { knownIn } from '../../shared/base/formats.ts';
import { errorMessage } from '../../shared/base/thrown.ts';
import {
  type HandOverAnswer,
  type HandOverQuestion,
  type HandOverStatus,
  isFitToLead,
  type LogFacts,
  type MemberStatus,
} from '../../shared/wire/clusterStatus.ts';
import { shutOut } from './formatsOfMember.ts';
import type { Lease, ReplicatedLog } from './log.ts';

/** A member reports each second. */
const ANSWERS_WITHIN_MS = 3000;
/**
 * The number of rows that a member reads in about a second. No member leads while the next leader reads the rows it
 * lacks.
 */
const MOST_BEHIND_ROWS = 5000;
/** A member that has just started has reported by then. */
const STARTS_WITHIN_MS = 2000;
const ACCEPT_WITHIN_MS = 5000;
const DONE_WITHIN_MS = 25_000;
const LOOK_MS = 100;

/** Answer to the operator: nothing was changed, unless the text says so. */
export class HandOverRefused extends Error {
  override readonly name = 'HandOverRefused';
}

type HandOver = {
  readonly to: string;
  /** Epoch of the lead that ends; the present epoch if the member already leads. */
  readonly epoch: number;
  readonly isDone: boolean;
};

type Asked = Pick<ReplicatedLog, 'lease' | 'facts' | 'askHandOver' | 'withdrawHandOver'>;

/** @param named null for the standby that has followed furthest */
export async function askHandOver(log: Asked, named: string | null, isForced: boolean): Promise<HandOver> {
  const lease = await log.lease();
  const facts = await log.facts();
  if (named === null || named !== lease.holder || lease.expiresInMs <= 0) {
    const to = named ?? furthestOf(facts, lease);
    await requireReady(log, to, isForced);
    if (!isForced) await requireNobodyShutOut(log, to, lease);
    const isNew = await log.askHandOver({ epoch: lease.epoch, to, isForced });
    const { handOver } = isNew ? { handOver: null } : await log.facts();
    if (!isNew && handOver?.to !== to)
      throw new HandOverRefused(`the lead is on its way to ${handOver?.to ?? 'another'}`);
    return { to, epoch: lease.epoch, isDone: false };
  }
  return { to: named, epoch: lease.epoch, isDone: true };
}

/** Resolves once the member leads. */
export async function awaitHandOver(log: Asked, { to, epoch }: HandOver, isForced: boolean): Promise<Lease> {
  const startMs = performance.now();
  let isAccepted = false;
  while (performance.now() - startMs < DONE_WITHIN_MS) {
    const lease = await log.lease();
    if (lease.epoch > epoch && lease.holder !== '') {
      if (lease.holder === to) return lease;
      throw new HandOverRefused(`${lease.holder} leads in epoch ${lease.epoch}, and not ${to}`);
    }
    isAccepted ||= (await log.facts()).handOver?.isAccepted === true;
    const isLate = !isAccepted && performance.now() - startMs > ACCEPT_WITHIN_MS;
    if (isLate && (await log.withdrawHandOver({ epoch, to, isForced }))) {
      throw new HandOverRefused(`${to} is not ready to lead: it has not accepted, and nothing was changed`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new HandOverRefused(
    `${to} does not lead after ${DONE_WITHIN_MS / 1000} s; cluster status shows which one does`,
  );
}

/** The part of a member in hand-overs. */
export class HandOvers {
  readonly #log: ReplicatedLog;
  readonly #holder: string;
  readonly #onHandedOver: (to: string) => void;
  #latest: HandOverStatus | null = null;
  #isHandedOver = false;

  constructor(log: ReplicatedLog, holder: string, onHandedOver: (to: string) => void) {
    this.#log = log;
    this.#holder = holder;
    this.#onHandedOver = onHandedOver;
  }

  /** HANDOVER-1. Returns true if this member takes the lease whether or not it has ended. */
  isForced({ epoch }: Lease): boolean {
    const { to, isForced, epoch: asked } = this.#latest ?? {};
    return isForced === true && to === this.#holder && asked === epoch;
  }

  /** @param leadsIn the epoch in which this member leads, or null @param applied the rows that it has */
  async look({ handOver, end }: LogFacts, { applied, leadsIn }: Standing): Promise<void> {
    this.#latest = handOver;
    if (handOver === null) return;
    const { to, epoch, isAccepted, isForced } = handOver;
    if (leadsIn === null) {
      const isReady = to === this.#holder && !isAccepted && end - applied <= MOST_BEHIND_ROWS;
      if (isReady) await this.#log.acceptHandOver(epoch);
    } else if (isAccepted && !isForced && epoch === leadsIn && !this.#isHandedOver) {
      this.#isHandedOver = true;
      this.#onHandedOver(to);
    }
  }

  /** A question of the gateway's. */
  async ask({ id, to }: HandOverQuestion): Promise<HandOverAnswer> {
    try {
      const asked = await askHandOver(this.#log, to, false);
      return { id, to: asked.to, isDone: asked.isDone };
    } catch (error) {
      const message = errorMessage(error);
      return error instanceof HandOverRefused ? { id, refused: message } : { id, failed: message };
    }
  }
}

type Standing = { readonly applied: number; readonly leadsIn: number | null };

function furthestOf({ members }: LogFacts, lease: Lease): string {
  const standbys = members.filter(({ holder, silentMs }) => holder !== lease.holder && silentMs < ANSWERS_WITHIN_MS);
  if (standbys.length === 0) throw new HandOverRefused('no standby answers that could lead');
  const withRoom = standbys.filter(({ hasRoom }) => hasRoom);
  if (withRoom.length === 0) throw new HandOverRefused('no standby has room on its disk');
  const [first] = withRoom.filter(isFitToLead).sort((a, b) => b.position - a.position);
  if (first === undefined) throw new HandOverRefused('no standby has files that agree with the log');
  return first.holder;
}

/** A member that was not there, or far behind, may only just have started. */
async function requireReady(log: Asked, to: string, isForced: boolean): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    const problem = problemOf(await log.facts(), to, isForced);
    if (problem === null) return;
    if (performance.now() - startMs > STARTS_WITHIN_MS) throw new HandOverRefused(problem);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function problemOf({ members, end }: LogFacts, to: string, isForced: boolean): string | null {
  const member = members.find(({ holder }) => holder === to);
  if (member === undefined) throw new HandOverRefused(`there is no member ${to}: ${namesOf(members)}`);
  if (member.silentMs > ANSWERS_WITHIN_MS) return `${to} has not answered for ${(member.silentMs / 1000).toFixed(0)} s`;
  if (!member.hasRoom && !isForced) return `the disk of ${to} is nearly full`;
  if (member.filesProblem !== '' && !isForced) return `${to} does not agree with the log: ${member.filesProblem}`;
  const behind = end - member.position;
  return behind > MOST_BEHIND_ROWS ? `${to} is ${behind} rows behind the end of the log` : null;
}

/** The leader restarts and has to be upgraded next; the other standbys have to be upgraded first. */
async function requireNobodyShutOut(log: Asked, to: string, lease: Lease): Promise<void> {
  const { members } = await log.facts();
  const formats = members.find(({ holder }) => holder === to)?.formats ?? '';
  const [first] = shutOut(members, { lease, next: to, known: knownIn(formats) });
  if (first !== undefined) throw new HandOverRefused(`${first}, which ${to} would write: upgrade it first`);
}

function namesOf(members: readonly MemberStatus[]): string {
  if (members.length === 0) return 'there is none at all';
  return `the members are ${members.map(({ holder }) => holder).join(', ')}`;
}
