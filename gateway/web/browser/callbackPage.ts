/** The end of a sign-in at a provider: exchanges the provider's code for a session, and goes on. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { textOf } from './api.ts';
import { signInFrom } from './session.ts';
import { Waiting } from './waiting.ts';

type CallbackProps = { readonly provider: string; readonly query: URLSearchParams };

export function CallbackPage({ provider, query }: CallbackProps): VNode {
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const returned: Record<string, string> = {};
    for (const name of ['code', 'state', 'iss']) {
      const value = query.get(name);
      if (value !== null) returned[name] = value;
    }
    // The code works once, and does not belong in the history.
    history.replaceState(null, '', location.pathname);
    if (returned['code'] === undefined) setError('You were not signed in.');
    else {
      const goOn = (target: string): void => location.replace(target);
      signInFrom(provider, returned).then(goOn, (failure: unknown) => setError(textOf(failure)));
    }
  }, []);
  return html`<${Waiting} error=${error} />`;
}
