/** Says on every view that orders are cancelled when the page closes, and whether the exchange knows it yet. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useAccountChanges, useIsWatched } from './accountChanges.ts';
import { cancelOnClose } from './leaving.ts';

export function LeavingNotice(): VNode {
  // The stream of the account is open for as long as this is shown.
  useAccountChanges();
  const isInForce = useIsWatched();
  return html`<p class="banner" role="status"><span>${
    isInForce
      ? 'All your orders are cancelled when this page closes, reloads or loses its connection.'
      : 'Not in force yet: the exchange is being asked to cancel your orders when this page closes.'
  }</span>
    <button type="button" class="small" onClick=${() => cancelOnClose(false)}>Keep my orders</button></p>`;
}
