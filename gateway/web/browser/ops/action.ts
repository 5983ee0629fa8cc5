/**
 * A button that changes the exchange. It is disabled, with the reason, for a role that may not press it. Pressing it
 * asks for confirmation in words that name the consequences. What became of it stands below the section (changed.ts).
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { AdminClient } from '../../../../shared/client/admin.ts';
import { ApprovalNeededError } from '../../../../shared/client/approvalNeeded.ts';
import { changeTextOf } from '../api.ts';
import { may, type Operator, type Role } from './access.ts';
import { entryOf, newestRecord } from './audited.ts';
import { type Change, said } from './changed.ts';

type ActionProps = {
  readonly client: AdminClient;
  readonly operator: Operator;
  readonly needs: Role;
  readonly label: string;
  /** The consequences, which the person confirms. */
  readonly confirm: string;
  /** The address of the change, or its beginning, by which the audit log is asked for its entry. */
  readonly path: string;
  /** A text that it resolves to is shown as the result. */
  readonly run: () => Promise<unknown>;
  readonly isDangerous?: boolean;
  /** Another reason why the button is disabled now. */
  readonly closed?: string | null;
  readonly onDone?: () => void;
};

type Outcome = Pick<Change, 'text' | 'isError'>;

let changes = 0;

export function Action(props: ActionProps): VNode {
  const { client, operator, needs, label, confirm, path, isDangerous = false, closed = null } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const newest = useRef<Promise<number | null>>(Promise.resolve(null));
  const [isBusy, setBusy] = useState(false);
  const reason = may(operator, needs) ? closed : `Needs the role ${needs}.`;
  const open = (): void => {
    newest.current = newestRecord(client);
    dialog.current?.showModal();
  };
  const go = async (): Promise<void> => {
    dialog.current?.close();
    setBusy(true);
    const after = await newest.current;
    const outcome = await outcomeOf(props.run, label);
    const change = { id: ++changes, ...outcome };
    said(change);
    setBusy(false);
    props.onDone?.();
    said({ ...change, entry: await entryOf(client, { operator: operator.name, path, after }) });
  };
  return html`<span class="action">
    <button type="button" disabled=${reason !== null || isBusy} title=${reason ?? undefined}
      onClick=${open}>${label}</button>
    ${reason !== null && html`<span class="quiet">${reason}</span>`}
    <dialog ref=${dialog} aria-label=${label}>
      <h2>${label}?</h2>
      <p>${confirm}</p>
      <p class="buttons">
        <button type="button" class=${isDangerous ? 'danger' : 'primary'} onClick=${go}>${label}</button>
        <button type="button" autofocus onClick=${() => dialog.current?.close()}>Go back</button>
      </p>
    </dialog>
  </span>`;
}

async function outcomeOf(run: () => Promise<unknown>, label: string): Promise<Outcome> {
  try {
    const result = await run();
    const text = typeof result === 'string' ? `${label}: done. ${result}` : `${label}: done.`;
    return { text, isError: false };
  } catch (error) {
    if (error instanceof ApprovalNeededError) {
      return { text: `${label}: a second operator has to approve it, it waits under Approvals.`, isError: false };
    }
    return { text: `${label}: ${changeTextOf(error)}`, isError: true };
  }
}
