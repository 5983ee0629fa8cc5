/**
 * A market's stream as a file: one JSON object on each line, in the order of arrival.
 *
 *     {"received_at":…,"event":"start","format":1,"market_id":"…","ticks_per_unit":100,"url":"…"}
 *     {"received_at":…,"frame":{"channel":"book",…}}             frames as the server sent them
 *     {"received_at":…,"event":"stale","cause":"connection","sequence":71}
 *     {"received_at":…,"event":"live","sequence":80}
 *     {"received_at":…,"event":"end"}
 *
 * `received_at` is the recorder's clock in Unix milliseconds. A `book` replaces missing frames, as on the stream, after
 * a `stale` line with the cause. An incomplete last line (the recorder was killed) is ignored.
 */
import type { Clock } from '../../base/clock.ts';
import type { BookEvent, BookStream } from './bookStream.ts';
import type { MarketFrame } from './frames.ts';

const RECORDING_FORMAT = 1;

export type RecordedFrame = { readonly receivedMs: number; readonly frame: MarketFrame };
export type Recording = {
  readonly marketId: string;
  /** Null in old recordings, which do not have it. */
  readonly ticksPerUnit: number | null;
  readonly frames: readonly RecordedFrame[];
};

/** The address of the recorded exchange, and the grid of the market. */
type RecordedSource = { readonly url: string; readonly ticksPerUnit: number };

/** Records the book until it is closed or fails. @param write gets whole lines and is awaited. */
export async function record(
  book: BookStream,
  { url, ticksPerUnit }: RecordedSource,
  clock: Clock,
  write: (line: string) => Promise<void> | void,
): Promise<void> {
  const put = (content: object) => write(`${JSON.stringify({ received_at: clock.nowMs(), ...content })}\n`);
  await put({ event: 'start', format: RECORDING_FORMAT, market_id: book.marketId, ticks_per_unit: ticksPerUnit, url });
  for await (const event of book) {
    // This book includes the frames for which the writer was too slow.
    if (event.type === 'book' && event.cause === 'slow_reader') await put({ event: 'stale', cause: 'slow_reader' });
    await put(contentOf(event));
  }
  await put({ event: 'end' });
}

function contentOf(event: BookEvent): object {
  if (event.type === 'stale') return { event: 'stale', cause: event.cause, sequence: event.sequence };
  if (event.type === 'live') return { event: 'live', sequence: event.sequence };
  return { frame: event.frame };
}

/** Throws an error that names the first bad line. */
export function parseRecording(text: string): Recording {
  const lines = text.split('\n');
  // The last part is empty, or a line that a killed recorder left unfinished.
  lines.pop();
  const [head, ...rest] = lines.map(parseLine);
  if (head?.event !== 'start' || typeof head.market_id !== 'string')
    throw new Error('line 1: not the start of a recording');
  if (head.format !== RECORDING_FORMAT) throw new Error(`line 1: format ${head.format} is not known`);
  const frames = rest.flatMap(({ received_at, frame }) =>
    frame === undefined ? [] : [{ receivedMs: received_at, frame }],
  );
  return { marketId: head.market_id, ticksPerUnit: head.ticks_per_unit ?? null, frames };
}

type Line = {
  received_at: number;
  event?: string;
  format?: number;
  market_id?: string;
  ticks_per_unit?: number;
  frame?: MarketFrame;
};

function parseLine(text: string, index: number): Line {
  let line: Line | null;
  try {
    line = JSON.parse(text);
  } catch {
    line = null;
  }
  if (typeof line?.received_at !== 'number') throw new Error(`line ${index + 1}: not a line of a recording`);
  return line;
}
