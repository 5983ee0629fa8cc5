/** shared/wire/RECORDS.md: the drawings of all binary records, from their declarations. Written by main.ts. */
import { SNAPSHOT_PART } from '../../engine/base/snapshotIo.ts';
import { HIGH_WATER_MARK } from '../../engine/journal/mark.ts';
import { JOURNAL_RECORD, JOURNAL_ROW, OLD_JOURNAL_ROW } from '../../engine/journal/row.ts';
import { HASH_RUN } from '../../engine/snapshot/hashRun.ts';
import { ANY_FRONT, FROM_FRONT, TO_FRONT } from '../../gateway/front/records.ts';
import { END_WORDS } from '../../gateway/front/threadOptions.ts';
import { MARKET_FRAME } from '../../gateway/stream/marketRecord.ts';
import { ACCOUNT_END, LOG_ENTRY, LOGGED_RECORD, SEGMENT_HEAD } from '../../gateway/stream/privateSegment.ts';
import { MATCH_TYPE, ORDER_STATUS, OUTCOME, SELF_TRADE_NAMES, SIDE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import { CHECK_BOARD, CHECK_QUEUE, CHECK_SLOT } from '../../shared/wire/checkLayout.ts';
import {
  ANY_COMMAND,
  BOTH_OUTCOMES,
  CANCEL_TOMBSTONE,
  COMMAND,
  COMMAND_VERSION,
  EXTENDED_PLACE,
  KEYED_CANCEL,
  KEYED_CONVERT,
  PLACE_BIT_EXTENDED,
  PLACE_BIT_POST_ONLY,
  PLACE_SELF_TRADE_SHIFT,
  REPLACE_MODE,
} from '../../shared/wire/commands.ts';
import {
  ENTRY_ANSWER,
  ENTRY_PROTOCOL,
  ENTRY_VERSION,
  HEARTBEAT,
  MARKET_CANCEL,
  PLACE_BIT_SELF_TRADE,
  PLACED_BIT_CHANGED_PRICE,
  PLACED_BIT_KEPT_PRIORITY,
  PLACED_FILL,
  REMAINDER,
} from '../../shared/wire/entry.ts';
import { ANY_EVENT, EVENT, EVENT_VERSION } from '../../shared/wire/events.ts';
import type { AnyLayout } from '../../shared/wire/layout.ts';
import { LOG_ORDER_ROW } from '../../shared/wire/logOrder.ts';
import { FILL_FRAME, PRIVATE_FRAME, STATUS_FRAME } from '../../shared/wire/privateRecord.ts';
import { BELLS } from '../../shared/wire/progress.ts';
import { OUTBOX_PART, REPLICATION } from '../../shared/wire/replication.ts';
import { RING, RING_RECORD } from '../../shared/wire/ringLayout.ts';
import { SPOT_QUEUE, SPOT_SLOT } from '../../shared/wire/spotLayout.ts';
import { drawing } from './drawing.ts';

export const RECORDS_PAGE = new URL('../../shared/wire/RECORDS.md', import.meta.url);

type Chapter = {
  readonly title: string;
  readonly about: string;
  /** The record with whose fields all others start. */
  readonly header?: AnyLayout;
  readonly records: readonly AnyLayout[];
};

const ENTRY_CODES: readonly [field: string, codes: Readonly<Record<string, number>>][] = [
  ['`side`, byte 0 of `kind`', SIDE],
  ['`outcome`, byte 1', { ...OUTCOME, BOTH_OUTCOMES }],
  ['`timeInForce`, byte 2', TIME_IN_FORCE],
  [
    '`bits`, byte 3',
    { POST_ONLY: PLACE_BIT_POST_ONLY, EXTENDED: PLACE_BIT_EXTENDED, SELF_TRADE: PLACE_BIT_SELF_TRADE },
  ],
  ['`bits` with SELF_TRADE', ofNames(SELF_TRADE_NAMES, 1 << PLACE_SELF_TRADE_SHIFT)],
  ['`flags` of REPLACE', REPLACE_MODE],
  ['`flags` of CANCEL', { CANCEL_TOMBSTONE }],
  ['`status`, byte 0 of `kind` in PLACED', ORDER_STATUS],
  ['`remainder`, byte 1', REMAINDER],
  ['`bits`, byte 2', { KEPT_PRIORITY: PLACED_BIT_KEPT_PRIORITY, CHANGED_PRICE: PLACED_BIT_CHANGED_PRICE }],
  ['`matchType`', MATCH_TYPE],
];

function ofNames(names: readonly string[], unit: number): Record<string, number> {
  return Object.fromEntries(names.map((name, index) => [name, index * unit]));
}

/** A client is written from this page alone. */
function entryCodes(): string {
  const rows = ENTRY_CODES.map(([field, codes]) => {
    const values = Object.entries(codes).map(([name, value]) => `${value} ${name}`);
    return `| ${field} | ${values.join(', ')} |`;
  });
  return `\n\n| where | codes |\n|---|---|\n${rows.join('\n')}`;
}

const CHAPTERS: readonly Chapter[] = [
  {
    title: 'Commands',
    about: `From the gateway to a shard, and into the journal (commands.ts). Version ${COMMAND_VERSION}.`,
    header: ANY_COMMAND,
    records: [...Object.values<AnyLayout>(COMMAND), EXTENDED_PLACE, KEYED_CANCEL, KEYED_CONVERT],
  },
  {
    title: 'Events',
    about: `From a shard to the gateway, and into the journal after a command (events.ts). Version ${EVENT_VERSION}.`,
    header: ANY_EVENT,
    records: [...Object.values<AnyLayout>(EVENT)],
  },
  {
    title: 'Order entry',
    about:
      `The subprotocol ${ENTRY_PROTOCOL} of the stream (entry.ts). Clients send PLACE, EXTENDED_PLACE, REPLACE, ` +
      'CANCEL and CANCEL_MANY as they are drawn above, without the fields that say since which version they are ' +
      'there, and the two requests here, and get the answers after them. ' +
      `The word \`type\` has version ${ENTRY_VERSION}. Of \`requestId\`, a client sends a number of its own; of ` +
      '`account`, `timeMs`, `market`, `hash`, `grant`, `fingerprint`, `group` and `keyUse` zeros, and so of `key`, ' +
      '`deadlineMs` and `clientIdBytes` where an order has none. A price is `priceTicks / ticksPerUnit`; the numbers ' +
      `of errors are at /docs/errors.${entryCodes()}`,
    records: [MARKET_CANCEL, HEARTBEAT, ...Object.values<AnyLayout>(ENTRY_ANSWER), PLACED_FILL],
  },
  {
    title: 'Stream',
    about: 'Frames as they are kept for replays: private ones in a log on the disk, public ones in memory.',
    records: [
      PRIVATE_FRAME,
      FILL_FRAME,
      STATUS_FRAME,
      SEGMENT_HEAD,
      LOGGED_RECORD,
      ACCOUNT_END,
      LOG_ENTRY,
      MARKET_FRAME,
    ],
  },
  {
    title: 'Journal and snapshots',
    about: 'The files of a shard, besides the commands and events in them.',
    records: [JOURNAL_ROW, JOURNAL_RECORD, OLD_JOURNAL_ROW, HIGH_WATER_MARK, SNAPSHOT_PART, HASH_RUN],
  },
  {
    title: 'Front threads',
    about: 'Between the gateway thread and each front thread: connections, calls and sockets (gateway/front/).',
    header: ANY_FRONT,
    records: [...Object.values<AnyLayout>(FROM_FRONT), ...Object.values<AnyLayout>(TO_FRONT)],
  },
  {
    title: 'Shared memory',
    about: 'What threads share besides commands and events; none of it outlives the process.',
    records: [
      RING,
      RING_RECORD,
      BELLS,
      REPLICATION,
      OUTBOX_PART,
      LOG_ORDER_ROW,
      CHECK_BOARD,
      CHECK_QUEUE,
      CHECK_SLOT,
      SPOT_QUEUE,
      SPOT_SLOT,
      END_WORDS,
    ],
  },
  {
    title: 'Lines of audit.log',
    about:
      `Not binary: each record is a line of JSON (auditChain.ts). Version ${FORMATS.audit.newest}. It begins with ` +
      '`sequence` and `version`, which are numbers, and ends with `previous`, `hash` and `mac`; /docs/api describes ' +
      'what may be between them. All are of version 1, which is also that of a line without `version`.',
    records: [],
  },
];

export function recordsPage(): string {
  const chapters = CHAPTERS.map(({ title, about, header, records }) => {
    const all = header === undefined ? [] : [drawing(header)];
    all.push(...records.map((layout) => drawing(layout, header)));
    return `## ${title}\n\n${about}\n\n${all.join('\n')}`;
  });
  return `# Binary records

Drawn from their declarations by \`npm run records\`; a test fails while this page is stale.

A row of a drawing is four words of four bytes, little-endian; the number before it is the offset of its first word. A
number over two words has the low one first. An empty cell is unused and zero. The header of all commands is drawn once,
and so is that of all events: the drawings of single ones start at word 8.

${chapters.join('\n')}`;
}
