/**
 * The cluster for administrators: what this member knows about it, and hand-overs.
 * Owner: the gateway thread.
 */
import type { ClusterState } from '../../shared/api/cluster.ts';
import type { HandOverAnswer } from '../../shared/wire/clusterStatus.ts';
import type { MemberRole } from '../base/memberRole.ts';
import { clusterState } from './clusterReport.ts';

type Controlled = {
  readonly role: Pick<MemberRole, 'name' | 'epoch' | 'staleMs' | 'status'>;
  askHandOver(to: string | null): Promise<HandOverAnswer>;
};

export class ClusterControl {
  readonly #name: string;
  readonly #member: Controlled;

  constructor(name: string, member: Controlled) {
    this.#name = name;
    this.#member = member;
  }

  get state(): ClusterState {
    return clusterState(this.#name, this.#member.role);
  }

  /** @param to null: the standby that has followed furthest */
  askHandOver(to: string | null): Promise<HandOverAnswer> {
    return this.#member.askHandOver(to);
  }
}
