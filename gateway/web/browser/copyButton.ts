/** Copies a text that only programs read, such as an id, in place of showing it. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

const SHOWN_MS = 2000;

/** @param what what is copied, as in "Copy the id of the market" */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): VNode {
  const [said, say] = useState('');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (): Promise<void> => {
    clearTimeout(timer.current);
    try {
      await navigator.clipboard.writeText(text);
      say('Copied.');
      timer.current = setTimeout(say, SHOWN_MS, '');
    } catch {
      // The browser has no clipboard for this page, as over plain HTTP: the visitor copies the text itself.
      say(text);
    }
  };
  return html`<button type="button" class="small" title=${text} onClick=${copy}>Copy ${what}</button>${' '}
    <span role="status" class="quiet">${said}</span>`;
}
