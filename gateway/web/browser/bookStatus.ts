/** Shows whether the displayed book is the exchange's, whose checksum it has; the cause if it is not. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { LiveBook } from './live.ts';
import { zoneName } from './times.ts';
import { When } from './when.ts';

const CAUSES = {
  connection: 'The connection was lost.',
  gap: 'Changes are missing.',
  checksum: 'The book differs from that of the exchange.',
  behind: 'The book is behind.',
  unsubscribed: 'The exchange ended the subscription.',
} as const;

const OVER = ['resolved', 'settled', 'cancelled'];

type BookStatusProps = { readonly book: LiveBook; readonly status: string; readonly stage: string };

export function BookStatus({ book, status, stage }: BookStatusProps): VNode {
  const isOpen = status === 'active';
  // The book of a market that is over is empty, and stays so.
  if (OVER.includes(status) && book.state === 'live') {
    return html`<p class="status"><span class="dot" aria-hidden="true"></span>
      <strong>${status.replace(/^./, (first) => first.toUpperCase())}</strong></p>`;
  }
  return html`<p class="status" data-state=${book.state}>
    <span class="dot" aria-hidden="true"></span>
    <strong>${nameOf(book)}</strong>${' '}
    ${
      book.changedMs > 0 &&
      html`<span class="quiet">changed <${When} time=${book.changedMs} isClock /> ${zoneName()}</span>`
    }${' '}
    ${!isOpen && html`<span class="tag">market ${status}</span>`}
    ${isOpen && stage !== 'open' && html`<span class="tag">${stage.replace('_', '-')}</span>`}
  </p>`;
}

function nameOf({ state, cause }: LiveBook): string {
  if (state === 'live') return 'Live';
  if (state === 'starting') return 'Connecting …';
  if (state === 'closed') return 'Not available';
  return `Out of date. ${cause === null ? '' : CAUSES[cause]} Reconnecting …`;
}
