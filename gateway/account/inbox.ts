/**
 * The notifications of accounts: those derived from the journals, which the query pool finds, and the notices in
 * control.db; and which of them the account has read (RULES.md 14.60 to 14.65). Owner: the gateway thread.
 *
 * Invariants:
 *   INBOX-1  Changes of an account's read marks run one after the other, so that each notification is counted as marked
 *            once.
 *   INBOX-2  Counts and read times in an answer are of one moment: if the account read something while a page was
 *            fetched, the page is fetched again.
 *   INBOX-3  A cached count is used only if nothing was reported to the account since, and it is no older than KEPT_MS.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { ErrorRow } from '../../shared/base/errors.ts';
import { bytesToUuid, UUID_BYTES, uuidToBytes } from '../../shared/base/hex.ts';
import { accountOf, type OfAccount } from '../base/reads.ts';
import type { Notices } from './noticesStore.ts';
import type { NoticeItem, NotificationItem } from './notificationJson.ts';
import { type FoundNotifications, type NotificationPlace, newestFirst } from './notificationQueries.ts';
import { type Origin, type ReadMarks, type Reads, readMsOf } from './readMarksStore.ts';
import type { AccountReads } from './reads.ts';

export type InboxDeps = {
  readonly shards: number;
  readonly queries: Pick<AccountReads, 'ofAccount' | 'ofAccountByNow'>;
  readonly notices: Notices;
  readonly readMarks: ReadMarks;
  readonly views: { lastAcknowledged(account: number, shard: number): number };
  readonly clock: Clock;
};

type Shown = { readonly item: NotificationItem; readonly readMs: number | null };
type Page = { readonly items: readonly Shown[]; readonly next: NotificationPlace | null; readonly unread: number };
type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly row: ErrorRow };
/** `reported` grows with everything that is reported to the account. */
type Counted = {
  readonly reported: number;
  readonly reads: Reads;
  readonly countedMs: number;
  readonly unread: number;
};

const MOST_UNREAD = 1000;
const MOST_MARKED = 10_000;
/** The time for which a count is kept. */
const KEPT_MS = 5000;
const MOST_KEPT = 10_000;
/** Commands wait in a ring for milliseconds; a command is never written later than this after its send time. */
const LONGEST_WAY_MS = 60_000;
const MOST_TRIES = 3;

export class Inbox {
  readonly #deps: InboxDeps;
  /** The change under way for each account, and the changes that wait for it. */
  readonly #turns = new Map<number, Promise<unknown>>();
  /** By account, the one counted longest ago first. */
  readonly #counted = new Map<number, Counted>();

  constructor(deps: InboxDeps) {
    this.#deps = deps;
  }

  /** Newest first, starting after a place of the list; null for the newest. */
  async page(asker: OfAccount, after: NotificationPlace | null, limit: number): Promise<Result<Page>> {
    const { readMarks } = this.#deps;
    const account = accountOf(asker);
    for (let tries = 1; ; tries++) {
      const reads = readMarks.of(account);
      const found = await this.#find(asker, reads, after, limit + 1, MOST_UNREAD);
      if (!found.ok) return found;
      if (readMarks.of(account) !== reads && tries < MOST_TRIES) continue;
      const notices = this.#notices(account);
      const { end, rows } = found.value;
      const items: NotificationItem[] = [...rows];
      for (const item of notices) {
        const isRead = end === null || newestFirst(item, end) < 0;
        if (isRead && (after === null || newestFirst(after, item) < 0)) items.push(item);
      }
      items.sort(newestFirst);
      const shown = items.slice(0, limit);
      const unread = this.#unread(found.value, notices, reads, MOST_UNREAD);
      return {
        ok: true,
        value: {
          items: shown.map((item) => ({ item, readMs: readMsOf(reads, this.#originOf(item)) })),
          next: items.length > limit ? shown.at(-1)! : end,
          unread,
        },
      };
    }
  }

  async unreadCount(asker: OfAccount): Promise<Result<number>> {
    const { clock, readMarks } = this.#deps;
    const account = accountOf(asker);
    const reads = readMarks.of(account);
    const notices = this.#notices(account);
    const reported = this.#reported(account) + (notices[0]?.notice.sequence ?? 0);
    const countedMs = clock.nowMs();
    const kept = this.#counted.get(account);
    const isFresh = kept?.reads === reads && kept.reported === reported && countedMs - kept.countedMs < KEPT_MS;
    if (isFresh) return { ok: true, value: kept.unread };
    const found = await this.#find(asker, reads, null, 0, MOST_UNREAD);
    if (!found.ok) return found;
    const unread = this.#unread(found.value, notices, reads, MOST_UNREAD);
    this.#counted.delete(account);
    this.#counted.set(account, { reported, reads, countedMs, unread });
    if (this.#counted.size > MOST_KEPT) this.#counted.delete(this.#counted.keys().next().value!);
    return { ok: true, value: unread };
  }

  /** The time at which the notification was read: now, unless earlier. Null if the account has none with this id. */
  read(account: number, id: string): Promise<Result<number | null>> {
    return this.#inTurn(account, async () => {
      const { clock, readMarks } = this.#deps;
      const found = await this.#one(account, id);
      if (!found.ok) return found;
      if (found.value === null) return { ok: true, value: null };
      const origin = this.#originOf(found.value);
      const before = readMsOf(readMarks.of(account), origin);
      if (before !== null) return { ok: true, value: before };
      const nowMs = clock.nowMs();
      readMarks.markOne(account, origin, nowMs);
      await readMarks.durable();
      return { ok: true, value: nowMs };
    });
  }

  /** @returns the number that were unread */
  markAllRead(account: number): Promise<Result<number>> {
    return this.#inTurn(account, async () => {
      const { clock, queries, readMarks } = this.#deps;
      const nowMs = clock.nowMs();
      const reads = readMarks.of(account);
      const task = this.#task(account, reads, null, 0, MOST_MARKED);
      const found = await queries.ofAccountByNow(account, 'notifications', task);
      if (!found.ok) return found;
      const notices = this.#notices(account);
      const marked = this.#unread(found.value, notices, reads, MOST_MARKED);
      if (marked > 0) {
        const lastNotice = Math.max(0, ...notices.map(({ notice }) => notice.sequence));
        const heads = Array.from({ length: this.#deps.shards }, (_, shard) => found.value.heads[shard] ?? 0);
        readMarks.markAll(account, [...heads, lastNotice], nowMs - LONGEST_WAY_MS, nowMs);
        await readMarks.durable();
      }
      return { ok: true, value: marked };
    });
  }

  /** INBOX-1 */
  async #inTurn<T>(account: number, change: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(account) ?? Promise.resolve();
    // A failed change has already answered its own request.
    const turn = before.then(change, change);
    this.#turns.set(account, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(account) === turn) this.#turns.delete(account);
    }
  }

  #find(
    asker: OfAccount,
    reads: Reads,
    after: NotificationPlace | null,
    limit: number,
    most: number,
  ): Promise<Result<FoundNotifications>> {
    const task = this.#task(accountOf(asker), reads, after, limit, most);
    return this.#deps.queries.ofAccount(asker, 'notifications', task);
  }

  #task(account: number, reads: Reads, after: NotificationPlace | null, limit: number, most: number) {
    const latest = reads.marks.at(-1);
    const read = latest === undefined ? null : { fromMs: latest.fromMs, through: latest.through };
    // Notifications that were read one at a time are included in the count.
    return { account, after, limit, read, mostUnread: most + this.#singlesAfterMark(reads) };
  }

  #unread({ unread }: FoundNotifications, notices: readonly NoticeItem[], reads: Reads, most: number): number {
    const unreadNotices = notices.filter((item) => readMsOf(reads, this.#originOf(item)) === null).length;
    return Math.min(most, unread - this.#singlesAfterMark(reads) + unreadNotices);
  }

  /** Single reads of journal notifications that the latest mark does not cover. */
  #singlesAfterMark({ marks, singles }: Reads): number {
    const through = marks.at(-1)?.through;
    let count = 0;
    for (const { source, sequence } of singles.values()) {
      if (source < this.#deps.shards && sequence > (through?.[source] ?? 0)) count++;
    }
    return count;
  }

  async #one(account: number, id: string): Promise<Result<NotificationItem | null>> {
    const notice = this.#notices(account).find((item) => item.notice.id === id);
    if (notice !== undefined) return { ok: true, value: notice };
    const bytes = new Uint8Array(UUID_BYTES);
    if (!uuidToBytes(id, bytes, 0)) return { ok: true, value: null };
    return this.#deps.queries.ofAccount(account, 'notification', { account, id: bytes });
  }

  #notices(account: number): NoticeItem[] {
    return this.#deps.notices.of(account).map((notice) => {
      const id = new Uint8Array(UUID_BYTES);
      uuidToBytes(notice.id, id, 0);
      return { kind: 'notice', id, createdMs: notice.createdMs, notice };
    });
  }

  #originOf(item: NotificationItem): Origin {
    const id = bytesToUuid(item.id);
    if (item.kind === 'notice') return { id, source: this.#deps.shards, sequence: item.notice.sequence };
    return { id, source: item.shard, sequence: item.shardSequence };
  }

  /** A number that grows with everything that the shards report to the account. */
  #reported(account: number): number {
    let sum = 0;
    for (let shard = 0; shard < this.#deps.shards; shard++) sum += this.#deps.views.lastAcknowledged(account, shard);
    return sum;
  }
}
