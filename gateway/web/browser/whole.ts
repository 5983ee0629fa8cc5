/**
 * Shows a view only when it is a whole: what has arrived is laid out, but not visible, while more is on its way. So
 * nothing that can be seen is ever moved by what comes after it. A skeleton stands there meanwhile (base.css).
 *
 * Invariants:
 *   WHOLE-1  A view is hidden at most for `PATIENCE_MS`, whatever does not come.
 */
import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

const PATIENCE_MS = 5000;
/** A part that has come may ask for others, after the frame in which it is drawn. */
const QUIET_FRAMES = 3;

let coming = 0;

/** @returns has to be called when it has come, or is not waited for any more; further calls do nothing */
export function nowComing(): () => void {
  let hasCome = false;
  coming += 1;
  return () => {
    if (!hasCome) coming -= 1;
    hasCome = true;
  };
}

export function useComing(isComing: boolean): void {
  useLayoutEffect(() => (isComing ? nowComing() : undefined), [isComing]);
}

/** @param view another one begins anew; null is one that fills itself while it is seen */
export function useWhole(place: RefObject<HTMLElement | null>, view: string | null): void {
  useLayoutEffect(() => {
    const { current } = place;
    if (current === null || view === null) return;
    let quiet = 0;
    let frame = 0;
    let afterFrame: ReturnType<typeof setTimeout>;
    const show = (): void => {
      cancelAnimationFrame(frame);
      clearTimeout(afterFrame);
      clearTimeout(timer);
      current.removeAttribute('aria-busy');
    };
    const look = (): void => {
      quiet = coming === 0 ? quiet + 1 : 0;
      if (quiet === QUIET_FRAMES) show();
      else next();
    };
    // Preact runs effects in the same way, so those of the frame have run by then.
    const next = (): void => {
      frame = requestAnimationFrame(() => {
        afterFrame = setTimeout(look);
      });
    };
    const timer = setTimeout(show, PATIENCE_MS);
    current.setAttribute('aria-busy', 'true');
    next();
    return show;
  }, [view]);
}
