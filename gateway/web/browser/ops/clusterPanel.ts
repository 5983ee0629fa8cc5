/** The cluster on the overview: the leader, how far the others follow, the log, and the servers of its database. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { ClusterState } from '../../../../shared/client/types.ts';
import { Action } from './action.ts';
import { bytes, count, seconds } from './numbers.ts';
import { Scrolling } from './scrolling.ts';
import type { ViewProps } from './view.ts';

type Shown = ViewProps & { readonly cluster: ClusterState };

/** Empty if the exchange runs on one machine. */
export function ClusterPanel(props: ViewProps): VNode | null {
  const { cluster } = props.last;
  if (cluster === null) return null;
  return html`<section class="panel" aria-label="Cluster">
    <h2>Cluster</h2>
    <p>${leadText(cluster)}</p>
    <${MemberTable} ...${props} cluster=${cluster} />
    <p class="quiet">${logText(cluster)} ${databaseText(cluster)} ${formatsText(cluster)}</p>
  </section>`;
}

function MemberTable({ cluster, operator, client }: Shown): VNode {
  return html`<${Scrolling} label="Members"><table>
    <thead><tr>
      <th scope="col">Member</th><th scope="col">Role</th><th scope="col">Rows behind</th>
      <th scope="col">Silent for</th><th scope="col">Version</th><th scope="col">Address</th><th scope="col">Lead</th>
    </tr></thead>
    <tbody>${cluster.members.map(
      (each) => html`<tr key=${each.member}>
        <th scope="row">${each.member}</th><td>${each.role}</td>
        <td>${each.behind_rows === null ? '–' : count(each.behind_rows)}</td><td>${seconds(each.silent_seconds)}</td>
        <td>${each.version === '' ? '–' : each.version}</td><td>${each.address}</td>
        <td>${
          cluster.role === 'leader' && each.role === 'standby'
            ? html`<${Action} client=${client} operator=${operator} needs="superuser" path="/admin/cluster/promote"
                label=${`Promote ${each.member}`}
                isDangerous=${true}
                confirm=${`${each.member} leads within seconds. This member ends, and begins anew as a standby.`}
                run=${() => client.promote(each.member)} />`
            : '–'
        }</td>
      </tr>`,
    )}</tbody>
  </table></${Scrolling}>`;
}

function leadText({ member, role, leader, epoch, stale_seconds: stale, hand_over: next }: ClusterState): string {
  const own =
    role === 'leader' ? `${member}, which answers, leads in epoch ${epoch}.` : `${member} answers as a standby`;
  const behind = stale === null ? '' : `, ${seconds(stale)} behind the log`;
  const lead = leader === null ? 'No member leads.' : `${leader.member} leads in epoch ${leader.epoch}.`;
  const going = next === null ? '' : ` The lead goes to ${next.member}.`;
  return `${role === 'leader' ? own : `${own}${behind}. ${lead}`}${going}`;
}

function logText({ log }: ClusterState): string {
  const kept = `The log has the rows ${count(log.first_position)} to ${count(log.last_position)}, ${bytes(log.bytes)}.`;
  const waiting = `${count(log.waiting_rows)} rows wait, the oldest for ${seconds(log.oldest_wait_seconds)}.`;
  return `${kept} ${log.waiting_rows > 0 ? waiting : `The last rows took ${seconds(log.append_seconds)}.`}`;
}

/** Says that an upgrade is not finished yet. */
function formatsText({ formats, members }: ClusterState): string {
  const raised = formats.filter(({ written, next }) => written !== null && next > written);
  const coming = raised.map(({ layout, next }) => `${layout} ${next}`).join(', ');
  const newer = members.filter(({ reads }) => {
    return reads.some(({ layout, newest }) => newest > (formats.find((each) => each.layout === layout)?.next ?? 0));
  });
  const knowing = newer.map(({ member }) => member).join(' and ');
  return [
    ...(coming === '' ? [] : [`The next lead writes ${coming}.`]),
    ...(knowing === '' || formats.length === 0 ? [] : [`An upgrade is underway: ${knowing} read newer formats.`]),
  ].join(' ');
}

function databaseText({ database }: ClusterState): string {
  if (database === null) return '';
  const standbys = database.standbys.map(({ name, sync_state: sync, behind_bytes: behind }) => {
    return sync === null ? name : `${name} (${sync}, ${bytes(behind ?? 0)} behind)`;
  });
  const followed = standbys.length === 0 ? 'nothing follows it' : `followed by ${standbys.join(' and ')}`;
  return `The database is written at ${database.server}, ${followed}.`;
}
