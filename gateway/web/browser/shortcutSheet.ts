/** The sheet of keys, which Alt+K opens on every view, and a button of the ticket. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { SHORTCUTS } from './shortcuts.ts';

/** Keys without Alt, where the keyboard is. */
const OTHERS: readonly (readonly [keys: string, does: string])[] = [
  ['Arrow up, down', 'a tick or a unit more or less, with Shift ten; in the book the next price'],
  ['Enter', 'in the ticket: sends the order that the preview shows, once, and nothing while it says why not'],
  ['Escape', 'closes what is open: this sheet, the change of an order, the ticket on a phone'],
  ['Tab', 'reaches everything else'],
];

export function ShortcutSheet({ onClose }: { readonly onClose: () => void }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const rows = [...SHORTCUTS.map(({ keys, does }) => [keys, does] as const), ...OTHERS];
  return html`<dialog ref=${dialog} aria-labelledby="shortcuts" onClose=${onClose}>
    <h2 id="shortcuts">Keys</h2>
    <dl class="keys">${rows.map(
      ([keys, does]) => html`<div key=${keys}><dt><kbd>${keys}</kbd></dt><dd>${does}</dd></div>`,
    )}</dl>
    <button type="button" onClick=${() => dialog.current?.close()}>Close</button>
  </dialog>`;
}
