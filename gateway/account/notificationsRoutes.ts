/** The routes of an account's notifications (RULES.md 14.60 to 14.65). */
import {
  NOTIFICATION_READ,
  NOTIFICATIONS,
  NOTIFICATIONS_MARKED,
  NOTIFICATIONS_QUERY,
  UNREAD,
} from '../../shared/api/notifications.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { UUID_BYTES } from '../../shared/base/hex.ts';
import { ID_PARAM } from '../http/pathParams.ts';
import { ok, refuse, refuseField } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Catalog } from '../markets/catalog.ts';
import { Inbox, type InboxDeps } from './inbox.ts';
import { notificationOf } from './notificationJson.ts';
import type { NotificationPlace } from './notificationQueries.ts';

type NotificationDeps = InboxDeps & { readonly catalog: Pick<Catalog, 'byIndex'> };

const PATH = '/v1/notifications';

const LIST = {
  method: 'GET',
  path: PATH,
  id: 'listNotifications',
  summary: 'What has happened to the account without its doing, newest first.',
  access: 'authenticated',
  query: NOTIFICATIONS_QUERY,
  answers: { 200: NOTIFICATIONS },
  errors: ['VALIDATION_ERROR', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

const COUNT_UNREAD = {
  method: 'GET',
  path: `${PATH}/unread-count`,
  id: 'countUnreadNotifications',
  summary: 'The number of notifications that the account has not read.',
  access: 'authenticated',
  answers: { 200: UNREAD },
  errors: ['ENGINE_BUSY'],
} as const satisfies RouteSpec;

const READ = {
  method: 'POST',
  path: `${PATH}/:id/read`,
  id: 'markNotificationRead',
  summary: 'Marks a notification as read; one that was read keeps its time.',
  access: 'authenticated',
  storing: true,
  params: ID_PARAM,
  answers: { 200: NOTIFICATION_READ },
  errors: ['RESOURCE_NOT_FOUND', 'ENGINE_BUSY'],
} as const satisfies RouteSpec;

const READ_ALL = {
  method: 'POST',
  path: `${PATH}/mark-all-read`,
  id: 'markAllNotificationsRead',
  summary: 'Marks all notifications that there are as read.',
  access: 'authenticated',
  storing: true,
  answers: { 200: NOTIFICATIONS_MARKED },
  errors: ['ENGINE_BUSY'],
} as const satisfies RouteSpec;

export function notificationRoutes(deps: NotificationDeps): Route[] {
  const inbox = new Inbox(deps);
  return [
    route(LIST, (call) => list(call, inbox, deps)),
    route(COUNT_UNREAD, async (call) => {
      const unread = await inbox.unreadCount(call);
      if (unread.ok) ok(call, { unread_count: unread.value });
      else refuse(call, unread);
    }),
    route(READ, (call) => read(call, inbox)),
    route(READ_ALL, async (call) => {
      const marked = await inbox.markAllRead(call.principal.accountIndex);
      if (marked.ok) ok(call, { marked: marked.value });
      else refuse(call, marked);
    }),
  ];
}

async function list(call: CallOf<typeof LIST>, inbox: Inbox, { catalog }: NotificationDeps): Promise<void> {
  const { cursor, limit } = call.query;
  const after = cursor === undefined ? null : tryReadCursor(cursor);
  if (cursor !== undefined && after === null) {
    refuseField(call, 'cursor', 'known');
    return;
  }
  const page = await inbox.page(call, after, limit);
  if (!page.ok) return refuse(call, page);
  const { items, next, unread } = page.value;
  ok(call, {
    items: items.map(({ item, readMs }) => notificationOf(item, readMs, catalog)),
    next_cursor: next === null ? null : writeCursor(next),
    unread_count: unread,
  });
}

async function read(call: CallOf<typeof READ>, inbox: Inbox): Promise<void> {
  const id = call.params.id.toLowerCase();
  const found = await inbox.read(call.principal.accountIndex, id);
  if (!found.ok) refuse(call, found);
  else if (found.value === null) refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'notification not found' });
  else ok(call, { id, read_at: new Date(found.value).toISOString() });
}

const TIME_BYTES = 6;
const CURSOR_BYTES = TIME_BYTES + UUID_BYTES;
const CURSOR_FORM = /^[A-Za-z0-9_-]{30}$/;

/** Time and id of the last notification of a page. */
function writeCursor({ createdMs, id }: NotificationPlace): string {
  const bytes = Buffer.alloc(CURSOR_BYTES);
  bytes.writeUIntBE(createdMs, 0, TIME_BYTES);
  bytes.set(id, TIME_BYTES);
  return bytes.toString('base64url');
}

function tryReadCursor(text: string): NotificationPlace | null {
  if (!CURSOR_FORM.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return { createdMs: bytes.readUIntBE(0, TIME_BYTES), id: new Uint8Array(bytes.subarray(TIME_BYTES)) };
}
