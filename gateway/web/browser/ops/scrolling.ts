/** A table that may be wider than the screen: only the table scrolls, with the keyboard too. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';

type ScrollingProps = { readonly label: string; readonly children?: unknown };

export function Scrolling({ label, children }: ScrollingProps): VNode {
  return html`<div class="scrolling" role="region" aria-label=${label} tabindex="0">${children}</div>`;
}
