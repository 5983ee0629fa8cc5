/** Schemas of the notifications and the achievements of an account. */
import { COUNT, TEXT, TIME, UUID } from './fields.ts';
import { arrayOf, described, type FromSchema, object, orNull, type QueryOf } from './schema.ts';

const NOTIFICATION_TYPES = [
  'order_filled',
  'order_cancelled',
  'order_expired',
  'market_resolved',
  'deposit',
  'withdrawal',
  'security',
] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

const CURSOR = { type: 'string', examples: ['AZCgsMDQAZCgsMDQcACAAAAAAACv'] } as const;
const MOST = 100;

export const NOTIFICATIONS_QUERY = {
  type: 'object',
  properties: {
    cursor: described({ ...CURSOR, maxLength: 100 }, 'The `next_cursor` of the page before.'),
    limit: { type: 'integer', minimum: 1, maximum: MOST, default: 20 },
  },
} as const;
export type NotificationsQuery = QueryOf<typeof NOTIFICATIONS_QUERY>;

export const NOTIFICATION = object({
  id: described(UUID, 'Of the order, market or movement; of a notice its own.'),
  type: { type: 'string', enum: NOTIFICATION_TYPES },
  title: { type: 'string', examples: ['Order filled'] },
  body: { ...TEXT, examples: ['Bought 5 Yes at 65¢: Will it rain tomorrow?'] },
  read_at: orNull(TIME),
  created_at: TIME,
});
export type Notification = FromSchema<typeof NOTIFICATION>;

const UNREAD_COUNT = described(COUNT, 'Exact below 1,000; 1,000 are that many or more.');
export const NOTIFICATIONS = object({
  items: arrayOf(NOTIFICATION),
  next_cursor: described(orNull(CURSOR), 'Null on the last page.'),
  unread_count: UNREAD_COUNT,
});
export type Notifications = FromSchema<typeof NOTIFICATIONS>;

export const UNREAD = object({ unread_count: UNREAD_COUNT });
export type Unread = FromSchema<typeof UNREAD>;

export const NOTIFICATION_READ = object({ id: UUID, read_at: TIME });
export type NotificationRead = FromSchema<typeof NOTIFICATION_READ>;

export const NOTIFICATIONS_MARKED = object({
  marked: described(COUNT, 'Exact below 10,000; 10,000 are that many or more.'),
});
export type NotificationsMarked = FromSchema<typeof NOTIFICATIONS_MARKED>;

/** In the order in which they are listed. */
export const ACHIEVEMENT_IDS = [
  'joined',
  'first_trade',
  'markets_traded_10',
  'markets_traded_100',
  'sharp',
  'top_5pct_nfl',
] as const;
export const ACHIEVEMENT = object({ id: { type: 'string', enum: ACHIEVEMENT_IDS }, granted_at: TIME });
export const ACHIEVEMENTS = arrayOf(ACHIEVEMENT);
export type Achievements = FromSchema<typeof ACHIEVEMENTS>;
export type Achievement = FromSchema<typeof ACHIEVEMENT>;
