/**
 * Lists what the operator has changed in this visit, with the number, the time and the operator that the audit log has
 * of it. It stays in view below every section: the button of a change is often gone once it has worked.
 */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditRecord } from '../../../../shared/client/types.ts';
import { When } from '../when.ts';

export type Change = {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
  /** Undefined while it is being looked for, null if there is none. */
  readonly entry?: AuditRecord | null;
};

const MOST = 3;

let changes: readonly Change[] = [];
let watcher: (() => void) | null = null;

/** Adds a change, or what is known of it by now; after the sign-out nothing is shown any more. */
export function said(change: Change): void {
  if (watcher === null) return;
  changes = [change, ...changes.filter(({ id }) => id !== change.id)].slice(0, MOST);
  watcher();
}

export function Changed(): VNode | null {
  const [, draw] = useState({});
  useEffect(() => {
    watcher = () => draw({});
    return () => {
      watcher = null;
      changes = [];
    };
  }, []);
  const close = (): void => {
    changes = [];
    draw({});
  };
  if (changes.length === 0) return null;
  return html`<section class="panel changed" aria-label="What you have changed">
    <ul class="plain">${changes.map(
      ({ id, text, isError, entry }) => html`<li key=${id} class="ends">
        <span role=${isError ? 'alert' : 'status'} class=${isError ? 'bad' : 'fine'}>${text}</span>
        ${entry === null && html`<span class="warn">The audit log shows no entry of it.</span>`}
        ${
          entry !== null &&
          entry !== undefined &&
          html`<span class="quiet">Audit entry <a href="#audit">${entry.sequence}</a>, ${' '}
            <${When} time=${entry.time} />, by ${entry.operator}.</span>`
        }</li>`,
    )}</ul>
    <button type="button" class="small" onClick=${close}>Close</button>
  </section>`;
}
