/** An event: its score while it is played, the chances of its markets over time, and all of them to be bought. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { EventView, LiveScore } from '../../../shared/client/types.ts';
import { bestPrices, get, useLoaded } from './api.ts';
import { charted, EventChart } from './eventChart.ts';
import { EventSet } from './eventSet.ts';
import { OutcomeRows } from './outcomeRows.ts';
import { Link, useTitle } from './router.ts';
import { Waiting } from './waiting.ts';
import { When } from './when.ts';

const REFRESH_SECONDS = 10;
const PRICES_SECONDS = 5;

export function EventPage({ slug }: { readonly slug: string }): VNode {
  const path = `/v1/events/${encodeURIComponent(slug)}/view`;
  const { value: event, error } = useLoaded<EventView>(slug, () => get(path), REFRESH_SECONDS);
  useTitle(event?.title);
  if (event === null) return html`<${Waiting} error=${error} />`;
  return html`<${OpenEvent} event=${event} error=${error} />`;
}

function OpenEvent({ event, error }: { readonly event: EventView; readonly error: string | null }): VNode {
  const markets = event.market_groups.flatMap((group) => group.markets);
  const ids = markets.filter(({ status }) => status === 'active').map(({ id }) => id);
  const { value: prices } = useLoaded(`prices ${ids.join()}`, () => bestPrices(ids), PRICES_SECONDS);
  // The lines stay the same while their volumes change.
  const traded = markets.filter(({ total_volume }) => Number(total_volume) > 0);
  const marks = useMemo(() => charted(traded), [traded.map(({ id }) => id).join()]);
  const colors = new Map([...marks].map(([id, name]) => [id, `var(${name})`]));
  return html`
    <nav class="where" aria-label="Where this is"><ol>
      <li><${Link} to="/">Markets</${Link}></li>
      <li><${Link} to=${`/?category=${encodeURIComponent(event.category)}`}>${event.category}</${Link}></li>
    </ol></nav>
    <h1><bdi>${event.title}</bdi></h1>
    <p class="quiet">${event.sport_league ? `${event.sport_league} · ` : ''}<${When} time=${event.start_time} /></p>
    ${event.live !== null && html`<${Score} score=${event.live} teams=${event.sport_teams} />`}
    <p class="text" dir="auto">${event.description}</p>
    ${error !== null && html`<p class="quiet">${error}</p>`}
    <${EventChart} markets=${markets} marks=${marks} />
    ${event.winners === 1 && html`<${EventSet} event=${event} />`}
    ${event.market_groups.map((group) => {
      // A group that is the only one differs from nothing.
      const title = event.market_groups.length === 1 ? 'Markets' : group.title;
      return html`<section key=${group.type} class="panel">
        <h2>${title}</h2>
        <${OutcomeRows} markets=${group.markets} prices=${prices} caption=${title} marks=${colors} />
      </section>`;
    })}
  `;
}

type ScoreProps = { readonly score: NonNullable<LiveScore>; readonly teams: readonly string[] | null };

function Score({ score, teams }: ScoreProps): VNode {
  const [home, away] = teams ?? ['Home', 'Away'];
  return html`<p class="score">
    <strong><bdi>${home}</bdi> ${score.home_score} : ${score.away_score} <bdi>${away}</bdi></strong>${' '}
    <span class="quiet">${[score.period, score.clock].filter(Boolean).join(' · ')}</span>
  </p>`;
}
