/** A time in the visitor's zone (times.ts); the time in UTC is in its title. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { clockTime, dateTime, utcTime } from './times.ts';

type WhenProps = {
  readonly time: string | number;
  /** Only the clock, with the day if it is another: the zone is said elsewhere. */
  readonly isClock?: boolean;
};

export function When({ time, isClock = false }: WhenProps): VNode {
  const date = new Date(time);
  return html`<time datetime=${date.toISOString()} title=${utcTime(time)}>${
    isClock ? clockTime(date.getTime()) : dateTime(time)
  }</time>`;
}
