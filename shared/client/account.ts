/** The part of the client for a person's profile and notifications (RULES.md 14.60 on). */
import type { SendAuthorized } from './accountRequests.ts';
import { withQuery } from './request.ts';
import type {
  Achievements,
  NotificationRead,
  Notifications,
  NotificationsMarked,
  NotificationsQuery,
  Profile,
  Referral,
  Unread,
} from './types.ts';

export class AccountClient {
  readonly #send: SendAuthorized;

  constructor(send: SendAuthorized) {
    this.#send = send;
  }

  profile(): Promise<Profile> {
    return this.#send('GET', '/v1/user/profile');
  }

  /** The code with which others sign up, and the number of accounts that did. */
  referral(): Promise<Referral> {
    return this.#send('GET', '/v1/user/referral');
  }

  /** Newest first; `cursor` is the `next_cursor` of the page before. */
  notifications(query: NotificationsQuery = {}): Promise<Notifications> {
    return this.#send('GET', withQuery('/v1/notifications', query));
  }

  unreadCount(): Promise<Unread> {
    return this.#send('GET', '/v1/notifications/unread-count');
  }

  /** A notification that was read before keeps its time. */
  markRead(id: string): Promise<NotificationRead> {
    return this.#send('POST', `/v1/notifications/${encodeURIComponent(id)}/read`);
  }

  markAllRead(): Promise<NotificationsMarked> {
    return this.#send('POST', '/v1/notifications/mark-all-read');
  }

  /** Grants the achievements that the account has earned. */
  achievements(): Promise<Achievements> {
    return this.#send('GET', '/v1/user/achievements');
  }
}
