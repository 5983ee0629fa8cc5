/**
 * The wish that all orders of the account are cancelled when this page closes (RULES.md 8.10). It is the tab's own, and
 * stays over a reload; the stream of the account carries it out (accountChanges.ts).
 */
import { useEffect, useState } from 'preact/hooks';
import { keepInTab, takeFromTab } from './storage.ts';

const KEPT = 'cancel-on-close';
const CHANGED = 'leavingchanged';

let isWished = takeFromTab(KEPT) !== null;
keep();

export function cancelsOnClose(): boolean {
  return isWished;
}

export function cancelOnClose(isOn: boolean): void {
  isWished = isOn;
  keep();
  dispatchEvent(new Event(CHANGED));
}

export function onLeavingChanged(listener: () => void): () => void {
  addEventListener(CHANGED, listener);
  return () => removeEventListener(CHANGED, listener);
}

export function useCancelsOnClose(): boolean {
  const [isShown, show] = useState(isWished);
  useEffect(() => onLeavingChanged(() => show(isWished)), []);
  return isShown;
}

function keep(): void {
  if (isWished) keepInTab(KEPT, {});
  else takeFromTab(KEPT);
}
