/** Measures of a page as Lighthouse has them. The scripts run in the page, before its own. */

/** Times in milliseconds since the navigation began. */
export type Loaded = {
  readonly firstPaintMs: number;
  readonly largestPaintMs: number;
  /** Cumulative layout shift: its definition leaves out half a second after a key or a click. */
  readonly shift: number;
  readonly longestTaskMs: number;
};

/** Leaves a `Loaded` in `globalThis.loaded`. */
export const METER_LOADING = `{
  globalThis.loaded = { firstPaintMs: 0, largestPaintMs: 0, shift: 0, longestTaskMs: 0 };
  const watch = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take))
    .observe({ type, buffered: true });
  watch('paint', ({ name, startTime }) => {
    if (name === 'first-contentful-paint') loaded.firstPaintMs = startTime;
  });
  watch('largest-contentful-paint', ({ startTime }) => { loaded.largestPaintMs = startTime; });
  watch('layout-shift', ({ hadRecentInput, value }) => { if (!hadRecentInput) loaded.shift += value; });
  watch('longtask', ({ duration }) => { loaded.longestTaskMs = Math.max(loaded.longestTaskMs, duration); });
}`;

export type Written = {
  /** Of the screen. */
  readonly frames: number;
  /** Changes of the document in all frames, and in the one with the most. */
  readonly writes: number;
  readonly mostWrites: number;
  readonly longestTaskMs: number;
};

/** Begins to count what is written to the document, in `globalThis.written`, a `Written`. */
export const COUNT_WRITES = `{
  globalThis.written = { frames: 0, writes: 0, mostWrites: 0, longestTaskMs: 0 };
  let now = 0;
  const observer = new MutationObserver((records) => { now += records.length; });
  observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  const count = () => {
    written.frames += 1;
    written.writes += now;
    written.mostWrites = Math.max(written.mostWrites, now);
    now = 0;
    requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) written.longestTaskMs = Math.max(written.longestTaskMs, duration);
  }).observe({ type: 'longtask' });
}`;
