/** Asks a visitor to sign in for what they were about to do, which is still there afterwards. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useVisitor } from './session.ts';
import { SignInWays } from './signInPanel.ts';

type SignInDialogProps = { readonly isAsked: boolean; readonly onDone: () => void };

export function SignInDialog({ isAsked, onDone }: SignInDialogProps): VNode | null {
  const visitor = useVisitor();
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = isAsked && visitor.kind === 'anonymous';
  useEffect(() => {
    if (isShown) dialog.current?.showModal();
    else if (isAsked) onDone();
  }, [isShown]);
  if (!isShown) return null;
  return html`<dialog ref=${dialog} class="sign-in" aria-labelledby="sign-in" onClose=${onDone}>
    <h2 id="sign-in">Sign in to trade</h2>
    <p class="quiet">Your order stays as it is.</p>
    <p class="ways"><${SignInWays} /></p>
    <button type="button" class="small" onClick=${() => dialog.current?.close()}>Not now</button>
  </dialog>`;
}
