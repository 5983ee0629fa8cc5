/** Runs one action of the visitor at a time and announces its result in the only live region beside it. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { changeTextOf } from './api.ts';

type Said = { readonly isError: boolean; readonly text: string };

export type Action = {
  readonly isBusy: boolean;
  readonly said: Said | null;
  /** @param act resolves to the announcement of its result */
  run(act: () => Promise<string>): Promise<void>;
};

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [said, say] = useState<Said | null>(null);
  const isRunning = useRef(false);
  const run = async (act: () => Promise<string>): Promise<void> => {
    // A double click is one action.
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    say(null);
    try {
      say({ isError: false, text: await act() });
    } catch (error) {
      say({ isError: true, text: changeTextOf(error) });
    }
    isRunning.current = false;
    setBusy(false);
  };
  return { isBusy, said, run };
}

export function Outcome({ action: { said } }: { readonly action: Action }): VNode {
  return html`<p role=${said?.isError === true ? 'alert' : 'status'}>${said?.text ?? ''}</p>`;
}
