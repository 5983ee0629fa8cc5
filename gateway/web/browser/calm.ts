/**
 * Slows down values that need not follow every frame: drawings that cost more than rows, and say less by the moment.
 */
import { useEffect, useRef, useState } from 'preact/hooks';

/** Returns the value, changed at most once in this time; the last value is always shown in the end. */
export function useCalm<T>(value: T, everyMs: number): T {
  const [shown, show] = useState(value);
  const newest = useRef(value);
  newest.current = value;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      show(() => newest.current);
    }, everyMs);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return shown;
}
