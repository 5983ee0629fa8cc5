/**
 * The keys of the page, declared once for the views that act on them and for the sheet that lists them. Each is Alt
 * and a letter: a single key would do something to those who dictate, or type outside of a field (WCAG 2.1.4).
 */
import { useEffect, useRef } from 'preact/hooks';

/** Sent by a button that shows the sheet. */
export const KEYS_ASKED = 'keysasked';

type Shortcut = { readonly code: string; readonly keys: string; readonly does: string };

const LETTERS = {
  B: 'buy, in the ticket',
  S: 'sell, in the ticket',
  Y: 'take the first outcome',
  N: 'take the second outcome',
  M: 'trade at the market',
  L: 'place a limit order',
  P: 'place a maker’s order, which is post-only',
  A: 'type the amount',
  G: 'go to the book; the arrow keys move in it, Enter takes a price into the ticket',
  O: 'go to your orders here, to change or cancel them',
  K: 'show these keys',
} as const;

type Letter = keyof typeof LETTERS;

export const SHORTCUTS: readonly Shortcut[] = Object.entries(LETTERS).map(([letter, does]) => ({
  code: `Key${letter}`,
  keys: `Alt+${letter}`,
  does,
}));

/** Acts on these letters while the view is shown; the newest rendering of the view decides how. */
export function useShortcuts(actions: Readonly<Partial<Record<Letter, () => void>>>): void {
  const newest = useRef(actions);
  newest.current = actions;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const act = new Map(Object.entries(newest.current)).get(event.code.replace(/^Key/, ''));
      if (act === undefined || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (!event.repeat) act();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** Moves the keyboard to the first element of these that is there. */
export function focusFirst(...selectors: readonly string[]): void {
  for (const selector of selectors) {
    const found = document.querySelector<HTMLElement>(selector);
    if (found !== null) return found.focus();
  }
}
