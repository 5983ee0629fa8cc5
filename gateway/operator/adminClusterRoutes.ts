/** The administrator's routes for the cluster (RULES.md 18.10, 18.11). An exchange on one machine has no cluster. */
import { CLUSTER, HANDED_OVER, NEXT_LEADER } from '../../shared/api/cluster.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { noteBefore } from '../http/audited.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { ClusterControl } from './clusterControl.ts';

type ClusterDeps = {
  /** Null without a cluster. */
  readonly cluster: Pick<ClusterControl, 'state' | 'askHandOver'> | null;
};

/** Answers even while this member catches up or ends, when it is watched most closely. */
const SHOW = {
  method: 'GET',
  path: '/admin/cluster',
  id: 'adminGetCluster',
  summary: 'Members of the cluster, who leads, the log, and the servers of its database; of any member.',
  access: 'viewer',
  probe: true,
  answers: { 200: CLUSTER },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const PROMOTE = {
  method: 'POST',
  path: '/admin/cluster/promote',
  id: 'adminPromoteMember',
  summary: 'Hands the lead over to a standby: this leader ends once the standby is ready, and begins anew as one.',
  access: 'superuser',
  body: NEXT_LEADER,
  answers: { 200: HANDED_OVER },
  errors: ['RESOURCE_NOT_FOUND', 'CONFLICT', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function adminClusterRoutes(deps: ClusterDeps): Route[] {
  return [route(SHOW, (call) => show(call, deps)), route(PROMOTE, (call) => promote(call, deps))];
}

function show(call: CallOf<typeof SHOW>, { cluster }: ClusterDeps): void {
  if (cluster === null) refuse(call, NO_CLUSTER);
  else ok(call, cluster.state);
}

async function promote(call: CallOf<typeof PROMOTE>, { cluster }: ClusterDeps): Promise<void> {
  if (cluster === null) return refuse(call, NO_CLUSTER);
  noteBefore(call, { leader: cluster.state.leader?.member ?? null });
  const answer = await cluster.askHandOver(call.body.member ?? null);
  if ('refused' in answer) refuse(call, { row: ERRORS.CONFLICT, message: answer.refused });
  else if ('failed' in answer) refuse(call, { row: ERRORS.ENGINE_BUSY });
  else ok(call, { member: answer.to, leads: answer.isDone });
}

const NO_CLUSTER = { row: ERRORS.RESOURCE_NOT_FOUND, message: 'this exchange is no member of a cluster' };
