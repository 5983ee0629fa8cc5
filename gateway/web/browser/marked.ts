/** A text of the catalogue with the words marked that a search has found (matches.ts). */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { piecesOf } from './matches.ts';

/** Titles may be in any script: each keeps its own direction. */
export function Marked({ text, words }: { readonly text: string; readonly words: readonly string[] }): VNode {
  return html`<bdi>${piecesOf(text, words).map(({ text: piece, isMatch }) =>
    isMatch ? html`<mark>${piece}</mark>` : piece,
  )}</bdi>`;
}
