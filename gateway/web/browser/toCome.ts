/** Stands where data will be while they are loaded, of about their size; or says why they cannot be loaded. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useComing } from './whole.ts';

type ToComeProps = {
  readonly error?: string | null;
  readonly lines?: number;
  /** True where a chart will be drawn. */
  readonly isPlot?: boolean;
};

export function ToCome({ error = null, lines = 3, isPlot = false }: ToComeProps): VNode {
  useComing(error === null);
  const room = isPlot ? 'plot' : '';
  if (error !== null) return html`<p class=${`quiet ${room}`}>${error}</p>`;
  return html`<p class="unseen" role="status">Loading …</p>
    <div class="lines-to-come" aria-hidden="true">${Array.from(
      { length: isPlot ? 1 : lines },
      (_, at) => html`<div key=${at} class=${`skeleton ${room}`}></div>`,
    )}</div>`;
}
