/**
 * A button that changes the exchange. It is disabled, with the reason, for a role that may not press it. Pressing it
 * asks for confirmation in words that name the consequences, and shows the result beside the button.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ApprovalNeededError } from '../../../../shared/client/approvalNeeded.ts';
import { changeTextOf } from '../api.ts';
import { may, type Operator, type Role } from './access.ts';

type ActionProps = {
  readonly operator: Operator;
  readonly needs: Role;
  readonly label: string;
  /** The consequences, which the person confirms. */
  readonly confirm: string;
  readonly run: () => Promise<unknown>;
  readonly isDangerous?: boolean;
  /** Another reason why the button is disabled now. */
  readonly closed?: string | null;
  readonly onDone?: () => void;
};

type Outcome = { readonly text: string; readonly isError: boolean };

export function Action(props: ActionProps): VNode {
  const { operator, needs, label, confirm, isDangerous = false, closed = null } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const reason = may(operator, needs) ? closed : `Needs the role ${needs}.`;
  const go = async (): Promise<void> => {
    dialog.current?.close();
    setBusy(true);
    setOutcome(await outcomeOf(props.run, label));
    setBusy(false);
    props.onDone?.();
  };
  return html`<span class="action">
    <button type="button" class=${isDangerous ? 'danger' : ''} disabled=${reason !== null || isBusy}
      title=${reason ?? undefined} onClick=${() => dialog.current?.showModal()}>${label}</button>
    ${reason !== null && html`<span class="quiet">${reason}</span>`}
    ${
      outcome !== null &&
      html`<span role=${outcome.isError ? 'alert' : 'status'}
      class=${outcome.isError ? 'bad' : 'fine'}>${outcome.text}</span>`
    }
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
    await run();
    return { text: `${label}: done.`, isError: false };
  } catch (error) {
    if (error instanceof ApprovalNeededError) {
      return { text: 'A second operator has to approve this: it waits under Approvals.', isError: false };
    }
    return { text: changeTextOf(error), isError: true };
  }
}
