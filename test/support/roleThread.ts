/** A thread that reads the role of a member while another writes it, and reports each address that it has seen. */
import { parentPort, workerData } from 'node:worker_threads';
import { ShownRole, type ShownRoleBuffers } from '../../gateway/base/shownRole.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { Replication } from '../../shared/wire/replication.ts';

export type RoleThreadOptions = ShownRoleBuffers & { readonly ended: Int32Array };

const { role, replication, ended } = workerData as RoleThreadOptions;
const shown = new ShownRole(role, new Replication(replication), systemClock);
const seen = new Set<string | null>();
let looks = 0;
while (Atomics.load(ended, 0) === 0) {
  seen.add(shown.leaderAddress);
  if (++looks === 1) parentPort!.postMessage('looking');
}
parentPort!.postMessage([...seen]);
