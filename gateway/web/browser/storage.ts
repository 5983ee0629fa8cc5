/**
 * A few values that the browser keeps for the page and that all its tabs share. If the browser refuses (private modes,
 * blocked site data), the page still works, and forgets the values with the tab.
 */
const kept = openStorage(() => localStorage);
const keptOfTab = openStorage(() => sessionStorage);
const memory = new Map<string, string>();

export function read(key: string): string | null {
  return kept?.getItem(key) ?? memory.get(key) ?? null;
}

export function write(key: string, value: string): void {
  try {
    if (kept === null) memory.set(key, value);
    else kept.setItem(key, value);
  } catch {
    // The storage is full.
    memory.set(key, value);
  }
}

export function remove(key: string): void {
  memory.delete(key);
  kept?.removeItem(key);
}

/** Calls back when another tab has changed the value of the key. */
export function onOtherTab(key: string, changed: (value: string | null) => void): void {
  addEventListener('storage', (event) => {
    if (event.storageArea === kept && event.key === key) changed(event.newValue);
  });
}

/** Keeps a value over a reload of this tab, and over a way to another site and back. */
export function keepInTab(key: string, value: object): void {
  try {
    keptOfTab?.setItem(key, JSON.stringify(value));
  } catch {
    // The storage is full: the value is lost with the document.
  }
}

/** Reads the value that this tab has kept, once; null if there is none. */
export function takeFromTab(key: string): Readonly<Record<string, unknown>> | null {
  const text = keptOfTab?.getItem(key) ?? null;
  keptOfTab?.removeItem(key);
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Reading the property throws if storage is blocked. */
function openStorage(open: () => Storage): Storage | null {
  try {
    return open();
  } catch {
    return null;
  }
}
