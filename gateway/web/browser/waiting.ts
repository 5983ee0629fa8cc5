/** Replaces a view while its data are being loaded, or if they cannot be loaded. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { Link } from './router.ts';
import { ToCome } from './toCome.ts';

export function Waiting({ error }: { readonly error: string | null }): VNode {
  if (error === null) return html`<${ToCome} lines=${8} />`;
  return html`<h1>${error}</h1><p><${Link} to="/">All markets</${Link}></p>`;
}

/** For views that only the person of an account sees. */
export function SignInFirst({ title, isKnown }: { readonly title: string; readonly isKnown: boolean }): VNode {
  return html`<h1>${title}</h1>${isKnown ? html`<p class="quiet">Sign in above.</p>` : html`<${ToCome} lines=${8} />`}`;
}
