/** An event as home shows it: the chances of its first markets in large figures, their change, and what was traded. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Market } from '../../../shared/client/types.ts';
import { changeInPercent, type HomeEvent, nameOf, priceOf, type Quote, shownMarkets } from './cardFigures.ts';
import { Figure } from './figure.ts';
import { cents, chance, complement, dollars, finestTicks, outcomeName, signed } from './format.ts';
import { Marked } from './marked.ts';
import { hasMatch } from './matches.ts';
import { Link } from './router.ts';
import { When } from './when.ts';

type EventCardProps = { readonly event: HomeEvent; readonly words: readonly string[] };

export function EventCard({ event, words }: EventCardProps): VNode {
  const place = `/events/${encodeURIComponent(event.slug)}`;
  const shown = shownMarkets(event, words);
  const isAlone = shown.length === 1;
  const teams = event.sport_teams?.filter((team) => hasMatch(team, words)) ?? [];
  const named = teams.filter((team) => !event.title.includes(team));
  return html`<li class="card">
    <p class="quiet">${event.category}${event.sport_league ? ` · ${event.sport_league}` : ''} · ${
      event.status === 'live' ? html`<strong class="live">Live</strong>` : html`<${When} time=${event.start_time} />`
    }</p>
    <h2><${Link} to=${place}><${Marked} text=${event.title} words=${words} /></${Link}></h2>
    ${event.live && html`<${CardScore} event=${event} />`}
    ${
      named.length > 0 &&
      html`<p class="quiet">With ${named.map(
        (team, at) => html`${at > 0 && ', '}<${Marked} key=${team} text=${team} words=${words} />`,
      )}</p>`
    }
    <ul class=${isAlone ? 'odds alone' : 'odds'} aria-label=${`Markets of ${event.title}`}>${shown.map(
      (market) => html`<${Odds} key=${market.id} market=${market} quote=${event.quotes?.[market.id]} words=${words} />`,
    )}</ul>
    <p class="foot quiet">${
      Number(event.total_volume) > 0 && html`<span>${dollars(Number(event.total_volume))} traded</span>`
    }${
      event.market_count_total > shown.length &&
      html`<${Link} to=${place}>All ${event.market_count_total} markets</${Link}>`
    }</p>
  </li>`;
}

type OddsProps = { readonly market: Market; readonly quote: Quote | undefined; readonly words: readonly string[] };

/** Buying No at a price is selling Yes at one minus that price, so the bid for Yes gives the cost of No. */
function Odds({ market, quote, words }: OddsProps): VNode {
  const price = priceOf(quote);
  const { best_bid: bid = null, best_ask: ask = null } = quote ?? {};
  const [yes, no] = [outcomeName(market, 0), outcomeName(market, 1)];
  return html`<li>
    <p class="name"><${Link} to=${`/markets/${market.id}`}>
      <${Marked} text=${nameOf(market)} words=${words} /></${Link}>
      ${market.status !== 'active' && html` <span class="tag">${market.status}</span>`}</p>
    <p class="chance">${
      price === null
        ? html`<span class="quiet">No price yet</span>`
        : html`<${Chance} price=${price} quote=${quote!} />`
    }</p>
    ${
      (ask !== null || bid !== null) &&
      html`<p class="sides-of">
        ${ask !== null && html`<span class="yes"><${Marked} text=${yes} words=${words} /> ${cents(ask)}</span>`}
        ${
          bid !== null &&
          html`<span class="no"><${Marked} text=${no} words=${words} /> ${cents(complement(bid))}</span>`
        }
      </p>`
    }
  </li>`;
}

function Chance({ price, quote }: { readonly price: string; readonly quote: Quote }): VNode {
  const points = changeInPercent(quote.change);
  return html`<${Figure} at=${finestTicks(price)} text=${chance(price)} />${
    points !== 0 &&
    html`<small class=${points > 0 ? 'yes' : 'no'} title="In 24 hours, in percentage points">${' '}${signed(
      String(points),
    )}</small>`
  }`;
}

function CardScore({ event }: { readonly event: HomeEvent }): VNode {
  const { home_score, away_score, period, clock } = event.live!;
  const [home, away] = event.sport_teams ?? ['Home', 'Away'];
  return html`<p class="score">
    <strong><bdi>${home}</bdi> ${home_score} : ${away_score} <bdi>${away}</bdi></strong>${' '}
    <span class="quiet">${[period, clock].filter(Boolean).join(' · ')}</span>
  </p>`;
}
