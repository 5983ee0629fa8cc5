/** The rules of a market: what is asked, who decides by what, when it opens and pays, and what it costs to trade. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Market } from '../../../shared/client/types.ts';
import { CopyButton } from './copyButton.ts';
import { usdc } from './format.ts';
import { feeInWords, timelineOf } from './timeline.ts';
import { When } from './when.ts';

/** The catalogue accepts only these; what a provider says may be older than that rule. */
const ADDRESS = /^https?:\/\//;

export function MarketRules({ market }: { readonly market: Market }): VNode {
  return html`<section class="panel rules" aria-labelledby="rules"><h2 id="rules">Rules</h2>
    <${Timeline} market=${market} />
    <p class="text" dir="auto">${market.description}</p>
    <${Sources} market=${market} />
    <dl class="facts">
      <div><dt>Fee</dt><dd>${feeInWords(market.fee_bps)}</dd></div>
      <div><dt>Traded so far</dt><dd>${usdc(market.total_volume)}</dd></div>
    </dl>
    <p><${CopyButton} text=${market.id} what="the id of the market" /></p>
  </section>`;
}

function Timeline({ market }: { readonly market: Market }): VNode {
  return html`<ol class="timeline">${timelineOf(market, Date.now()).map(
    ({ name, state, time, text }) => html`<li key=${name} class=${state} aria-current=${
      state === 'next' ? 'step' : undefined
    }><strong>${name}</strong>${' '}
      ${time !== null && html`<span><${When} time=${time} /></span>`}${' '}<span class="quiet">${text}</span></li>`,
  )}</ol>`;
}

function Sources({ market }: { readonly market: Market }): VNode | null {
  const named = (market.settlement_sources ?? []).map(({ name, url }) => ({ name, url }));
  const { resolution_source: source } = market;
  if (source !== undefined && !named.some(({ url }) => url === source))
    named.push({ name: hostOf(source), url: source });
  if (named.length === 0) return null;
  return html`<p>${'Decided by '}${named.map(
    ({ name, url }, index) =>
      html`${index > 0 && ', '}${
        ADDRESS.test(url)
          ? html`<a href=${url} target="_blank" rel="noopener noreferrer"><bdi>${name}</bdi></a>`
          : html`<bdi>${name}</bdi>`
      }`,
  )}.</p>`;
}

function hostOf(address: string): string {
  return URL.parse(address)?.host ?? address;
}
