/** The sign-in: the exchange checks the operator's token before the page keeps it. */
import { html } from 'htm/preact';
import type { TargetedEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { textOf } from '../api.ts';
import { clientWith } from './access.ts';

type LoginProps = { readonly notice: string | null; readonly onToken: (token: string) => void };

export function LoginView({ notice, onToken }: LoginProps): VNode {
  const [error, setError] = useState<string | null>(notice);
  const [isBusy, setBusy] = useState(false);
  const signIn = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget).get('token') ?? '').trim();
    if (token === '') return;
    setBusy(true);
    setError(null);
    try {
      await clientWith(token).operations();
      onToken(token);
    } catch (failure) {
      setError(textOf(failure));
      setBusy(false);
    }
  };
  return html`<main id="main" class="login">
    <h1>Operations</h1>
    <form class="panel" onSubmit=${signIn}>
      <label>Token of the operator
        <input name="token" type="password" autocomplete="off" autofocus required spellcheck=${false} />
      </label>
      <button type="submit" class="primary" disabled=${isBusy}>Sign in</button>
      ${error !== null && html`<p class="bad" role="alert">${error}</p>`}
      <p class="quiet">It stays in this tab, and is forgotten with it.</p>
    </form>
  </main>`;
}
