/**
 * A button that changes the exchange. It is disabled, with the reason, for a role that may not press it. Pressing it
 * asks for confirmation in words that name the consequences. The result stands beside the button, with the number, the
 * time and the operator that the audit log has of it.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { AdminClient } from '../../../../shared/client/admin.ts';
import { ApprovalNeededError } from '../../../../shared/client/approvalNeeded.ts';
import type { AuditRecord } from '../../../../shared/client/types.ts';
import { changeTextOf } from '../api.ts';
import { When } from '../when.ts';
import { may, type Operator, type Role } from './access.ts';
import { entryOf, newestRecord } from './audited.ts';

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

type Outcome = {
  readonly text: string;
  readonly isError: boolean;
  /** Undefined while it is being looked for. */
  readonly entry?: AuditRecord | null;
};

export function Action(props: ActionProps): VNode {
  const { client, operator, needs, label, confirm, path, isDangerous = false, closed = null } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const newest = useRef<Promise<number | null>>(Promise.resolve(null));
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const reason = may(operator, needs) ? closed : `Needs the role ${needs}.`;
  const open = (): void => {
    newest.current = newestRecord(client);
    dialog.current?.showModal();
  };
  const go = async (): Promise<void> => {
    dialog.current?.close();
    setBusy(true);
    const after = await newest.current;
    const found = await outcomeOf(props.run, label);
    setOutcome(found);
    setBusy(false);
    props.onDone?.();
    setOutcome({ ...found, entry: await entryOf(client, { operator: operator.name, path, after }) });
  };
  return html`<span class="action">
    <button type="button" disabled=${reason !== null || isBusy} title=${reason ?? undefined}
      onClick=${open}>${label}</button>
    ${reason !== null && html`<span class="quiet">${reason}</span>`}
    ${outcome !== null && html`<${OutcomeText} outcome=${outcome} />`}
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

function OutcomeText({ outcome: { text, isError, entry } }: { readonly outcome: Outcome }): VNode {
  return html`<span role=${isError ? 'alert' : 'status'} class=${isError ? 'bad' : 'fine'}>${text}</span>
    ${entry === null && html`<span class="warn">The audit log shows no entry of it.</span>`}
    ${
      entry !== null &&
      entry !== undefined &&
      html`<span class="quiet">Audit entry <a href="#audit">${entry.sequence}</a>, ${' '}
        <${When} time=${entry.time} />, by ${entry.operator}.</span>`
    }`;
}

async function outcomeOf(run: () => Promise<unknown>, label: string): Promise<Outcome> {
  try {
    const result = await run();
    const text = typeof result === 'string' ? `${label}: done. ${result}` : `${label}: done.`;
    return { text, isError: false };
  } catch (error) {
    if (error instanceof ApprovalNeededError) {
      return { text: 'A second operator has to approve this: it waits under Approvals.', isError: false };
    }
    return { text: changeTextOf(error), isError: true };
  }
}
