/** shared/wire/RECORDS.md: the drawings of all binary records, from their declarations. Written by main.ts. */
import { SNAPSHOT_PART } from '../../engine/base/snapshotIo.ts';
import { HIGH_WATER_MARK } from '../../engine/journal/mark.ts';
import { JOURNAL_RECORD, JOURNAL_ROW, OLD_JOURNAL_ROW } from '../../engine/journal/row.ts';
import { MARKET_FRAME } from '../../gateway/stream/market/record.ts';
import { ACCOUNT_END, LOG_ENTRY, LOGGED_RECORD, SEGMENT_HEAD } from '../../gateway/stream/private/segment.ts';
import { CHECK_BOARD, CHECK_QUEUE, CHECK_SLOT } from '../../shared/wire/checkLayout.ts';
import {
  ANY_COMMAND,
  COMMAND,
  COMMAND_VERSION,
  EXTENDED_PLACE,
  KEYED_CANCEL,
  KEYED_CONVERT,
} from '../../shared/wire/commands.ts';
import { ENTRY_ANSWER, ENTRY_PROTOCOL, HEARTBEAT, MARKET_CANCEL, PLACED_FILL } from '../../shared/wire/entry.ts';
import { ANY_EVENT, EVENT, EVENT_VERSION } from '../../shared/wire/events.ts';
import type { AnyLayout } from '../../shared/wire/layout.ts';
import { FILL_FRAME, PRIVATE_FRAME, STATUS_FRAME } from '../../shared/wire/privateRecord.ts';
import { BELLS } from '../../shared/wire/progress.ts';
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
      'CANCEL and CANCEL_MANY as they are drawn above and the two requests here, and get the answers after them.',
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
    records: [JOURNAL_ROW, JOURNAL_RECORD, OLD_JOURNAL_ROW, HIGH_WATER_MARK, SNAPSHOT_PART],
  },
  {
    title: 'Shared memory',
    about: 'What threads share besides commands and events; none of it outlives the process.',
    records: [RING, RING_RECORD, BELLS, CHECK_BOARD, CHECK_QUEUE, CHECK_SLOT, SPOT_QUEUE, SPOT_SLOT],
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
