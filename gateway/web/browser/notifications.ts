/** The notifications of the account (RULES.md 14.60 to 14.65). */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Notification, Notifications } from '../../../shared/client/types.ts';
import { useAccountChanges } from './accountChanges.ts';
import { Outcome, useAction } from './action.ts';
import { useLoaded } from './api.ts';
import { ask } from './session.ts';
import { ToCome } from './toCome.ts';
import { notificationsRead } from './unread.ts';
import { When } from './when.ts';

const REFRESH_SECONDS = 30;
const ROWS_A_PAGE = 20;
const MOST_SHOWN = 100;

export function NotificationsPanel(): VNode {
  const [round, setRound] = useState(0);
  const [pages, setPages] = useState(1);
  const action = useAction();
  const load = (): Promise<Notifications> => loadPages(pages);
  const events = useAccountChanges();
  const { value, error } = useLoaded<Notifications>(`notifications ${pages}`, load, REFRESH_SECONDS, round + events);
  const read = (path: string, said: string): Promise<void> =>
    action.run(async () => {
      await ask('POST', path);
      setRound(round + 1);
      notificationsRead();
      return said;
    });
  if (value === null)
    return html`<section class="panel"><h2>Notifications</h2>
    <${ToCome} error=${error} /></section>`;
  const { items, next_cursor, unread_count } = value;
  return html`<section class="panel"><h2>Notifications</h2>
    ${
      unread_count > 0 &&
      html`<p>${unread_count} unread. <button type="button" class="small" disabled=${action.isBusy}
        onClick=${() => read('/v1/notifications/mark-all-read', 'All are read.')}>Mark all as read</button></p>`
    }
    <${Outcome} action=${action} />
    ${items.length === 0 && html`<p class="quiet">Nothing yet.</p>`}
    <ul class="plain">${items.map(
      (item) => html`<${NotificationRow} key=${item.id + item.type} item=${item} isBusy=${action.isBusy}
        onRead=${() => read(`/v1/notifications/${item.id}/read`, '')} />`,
    )}</ul>
    ${
      next_cursor !== null &&
      pages * ROWS_A_PAGE < MOST_SHOWN &&
      html`<button type="button" class="more" onClick=${() => setPages(pages + 1)}>Older ones</button>`
    }
  </section>`;
}

/** Loads all displayed pages in one request: a list of up to a hundred. */
function loadPages(pages: number): Promise<Notifications> {
  return ask('GET', `/v1/notifications?limit=${Math.min(MOST_SHOWN, pages * ROWS_A_PAGE)}`);
}

type RowProps = { readonly item: Notification; readonly isBusy: boolean; readonly onRead: () => void };

function NotificationRow({ item, isBusy, onRead }: RowProps): VNode {
  const { title, body, read_at, created_at } = item;
  const isNew = read_at === null;
  return html`<li class=${isNew ? 'unread' : ''}><span class="quiet"><${When} time=${created_at} /></span>${' '}
    <strong>${title}.</strong> ${body}${' '}
    ${
      isNew && html`<button type="button" class="small" disabled=${isBusy} onClick=${onRead}>Mark as read</button>`
    }</li>`;
}
