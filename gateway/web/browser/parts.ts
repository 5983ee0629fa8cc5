/**
 * Loads the modules of the page that it needs later. After an upgrade the exchange no longer has those of an older
 * page: then the page loads itself again, once, and what was typed comes back with it (ticketState.ts).
 *
 * Invariants:
 *   PARTS-1  A part that cannot be loaded is never taken for an exchange that does not answer.
 *   PARTS-2  The page loads itself again only if the exchange has another page by now, and at most once in `AGAIN_MS`:
 *            the members of a cluster may be of two versions meanwhile.
 */
import { keepInTab, takeFromTab } from './storage.ts';
import { nowComing } from './whole.ts';

const RELOADED = 'reloaded';
const AGAIN_MS = 60_000;
/** For what goes over the socket before it closes. */
const PARTING_MS = 250;
const MAP = /<script type="importmap">(.*?)<\/script>/s;
/** Sent before the page loads itself again: its end is not the end of the visit. */
export const PARTING = 'parting';

class PartMissing extends Error {
  override readonly name = 'PartMissing';
}

const reloadedMs = Number(takeFromTab(RELOADED)?.['ms'] ?? 0);

/** True for a page that has loaded itself again just now. */
export const wasReloaded = reloadedMs > 0;

/** Parts that are missing at the same time are had by the same reload. */
let reloading: Promise<void> | undefined;

/** @param load an `import()`, whose failure says nothing of its cause */
export async function part<T>(load: () => Promise<T>): Promise<T> {
  const arrived = nowComing();
  try {
    return await load();
  } catch {
    if (Date.now() - reloadedMs > AGAIN_MS && (await isReplaced())) await reloadOnce();
    throw new PartMissing('A part of this page could not be loaded. Nothing was sent: load the page again.');
  } finally {
    arrived();
  }
}

/** PARTS-2. Two pages differ if any of their modules does. */
async function isReplaced(): Promise<boolean> {
  try {
    const document = await fetch('/', { cache: 'no-store' });
    const found = MAP.exec(await document.text())?.[1];
    return document.ok && found !== undefined && found !== ownMap();
  } catch {
    return false;
  }
}

function ownMap(): string | undefined {
  return document.querySelector('script[type="importmap"]')?.textContent ?? undefined;
}

function reloadOnce(): Promise<void> {
  reloading ??= reload();
  return reloading;
}

/** The order that waits for the part is not sent: it is in the ticket after the reload. */
async function reload(): Promise<void> {
  keepInTab(RELOADED, { ms: Date.now() });
  dispatchEvent(new Event(PARTING));
  await new Promise((resolve) => setTimeout(resolve, PARTING_MS));
  location.reload();
  await new Promise(() => {});
}
