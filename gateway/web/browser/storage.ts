/**
 * A few values that the browser keeps for the page and that all its tabs share. If the browser refuses (private modes,
 * blocked site data), the page still works, and forgets the values with the tab.
 */
const kept = openStorage();
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

/** Reading the property throws if storage is blocked. */
function openStorage(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}
