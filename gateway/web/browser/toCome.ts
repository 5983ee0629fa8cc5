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
  // Each is an element of its own: one that became the other would move from the place of the first.
  if (error !== null) return html`<p key="said" class=${`quiet ${isPlot ? 'plot' : ''}`}>${error}</p>`;
  return html`<p key="coming" class="unseen" role="status">Loading …</p>
    ${
      isPlot
        ? html`<div class="plot skeleton" aria-hidden="true"></div>`
        : html`<div class="lines-to-come" aria-hidden="true">${Array.from(
            { length: lines },
            (_, at) => html`<div key=${at} class="skeleton"></div>`,
          )}</div>`
    }`;
}
