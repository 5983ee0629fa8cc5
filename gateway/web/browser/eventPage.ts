/** An event: its score while it is played, and all its markets by kind. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { EventView, LiveScore } from '../../../shared/client/types.ts';
import { get, useLoaded } from './api.ts';
import { MarketTable } from './marketTable.ts';
import { useTitle } from './router.ts';
import { Waiting } from './waiting.ts';
import { When } from './when.ts';

const REFRESH_SECONDS = 10;
const PRICES_SECONDS = 5;

export function EventPage({ slug }: { readonly slug: string }): VNode {
  const path = `/v1/events/${encodeURIComponent(slug)}/view`;
  const { value: event, error } = useLoaded<EventView>(slug, () => get(path), REFRESH_SECONDS);
  useTitle(event?.title);
  if (event === null) return html`<${Waiting} error=${error} />`;
  return html`
    <p class="quiet">${event.category}${event.sport_league ? ` · ${event.sport_league}` : ''} · <${When}
      time=${event.start_time} /></p>
    <h1>${event.title}</h1>
    ${event.live !== null && html`<${Score} score=${event.live} teams=${event.sport_teams} />`}
    <p>${event.description}</p>
    ${error !== null && html`<p class="quiet">${error}</p>`}
    ${event.market_groups.map(
      (group) => html`<section key=${group.type} class="panel">
        <h2>${group.title}</h2>
        <${MarketTable} markets=${group.markets} caption=${group.title} refreshSeconds=${PRICES_SECONDS} />
      </section>`,
    )}
  `;
}

type ScoreProps = { readonly score: NonNullable<LiveScore>; readonly teams: readonly string[] | null };

function Score({ score, teams }: ScoreProps): VNode {
  const [home, away] = teams ?? ['Home', 'Away'];
  return html`<p class="score">
    <strong>${home} ${score.home_score} : ${score.away_score} ${away}</strong>
    <span class="quiet">${[score.period, score.clock].filter(Boolean).join(' · ')}</span>
  </p>`;
}
