/** A number that changes while it is looked at: it flashes, and nothing moves (tabular figures, components.css). */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';

type FigureProps = {
  /** The value of the figure: a rise flashes green, a fall red. */
  readonly at: number;
  readonly text: string;
};

export function Figure({ at, text }: FigureProps): VNode {
  const seen = useRef({ at, way: '' });
  if (seen.current.at !== at) seen.current = { at, way: at > seen.current.at ? 'rose' : 'fell' };
  // A new element begins its flash anew.
  return html`<span key=${text} class=${`figure ${seen.current.way}`}>${text}</span>`;
}
