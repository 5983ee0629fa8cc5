/**
 * Times for people: in the language of the page, by its calendar and its digits, whatever those of the visitor are, and
 * in the visitor's zone, which is said. In the page they stand in the element of when.ts.
 */
/** The language of the texts (index.html). A visitor who reads it elsewhere writes dates as there: 29 Nov, Nov 29. */
const LANGUAGE = 'en';
const LOCALE = localeOf(globalThis.navigator?.languages ?? []);
const READ_BY_ALL = { calendar: 'gregory', numberingSystem: 'latn' } as const;
const DAY = { day: 'numeric', month: 'short', year: 'numeric' } as const;
const MINUTES = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const SECONDS = { ...MINUTES, second: '2-digit' } as const;

const DATE_TIME = formatOf({ ...DAY, ...MINUTES, timeZoneName: 'short' });
const UTC = formatOf({ ...DAY, ...SECONDS, timeZone: 'UTC', timeZoneName: 'short' });
const CLOCK = formatOf(SECONDS);
const ZONE = formatOf({ timeZoneName: 'short' });
const SHORT_DAY = formatOf({ day: 'numeric', month: 'short' });
const SHORT_CLOCK = formatOf(MINUTES);
const SHORT_DAY_CLOCK = formatOf({ day: 'numeric', month: 'short', ...MINUTES });

/** @returns the first of the visitor's languages that is that of the page, in the way that a region writes it */
export function localeOf(languages: readonly string[]): string {
  return languages.find((each) => each.split('-')[0] === LANGUAGE) ?? LANGUAGE;
}

export function formatOf(options: Intl.DateTimeFormatOptions, locale = LOCALE): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale, { ...READ_BY_ALL, ...options });
}

/** "29 Nov 2026, 22:38 CET", for sentences; elsewhere there is the element `When`. */
export function dateTime(time: string | number): string {
  return DATE_TIME.format(new Date(time));
}

/** For the title of an element. */
export function utcTime(time: string | number): string {
  return UTC.format(new Date(time));
}

/** "22:38:05" of the visitor's day, "29 Nov, 22:38" of another. */
export function clockTime(timeMs: number, nowMs = Date.now()): string {
  const isToday = new Date(timeMs).toDateString() === new Date(nowMs).toDateString();
  return isToday ? CLOCK.format(timeMs) : SHORT_DAY_CLOCK.format(timeMs);
}

/** For the axis of a chart: "29 Nov". */
export function shortDay(timeMs: number): string {
  return SHORT_DAY.format(timeMs);
}

/** For the axis of a chart: "22:38". */
export function shortClock(timeMs: number): string {
  return SHORT_CLOCK.format(timeMs);
}

/** The name of the visitor's zone now, for the head of a column of times. */
export function zoneName(): string {
  return ZONE.formatToParts().find(({ type }) => type === 'timeZoneName')?.value ?? '';
}
