/**
 * Buttons that copy the code of the documents (gateway/web/), and the search, which a slash opens from each page.
 * Without this script the documents read the same; the page of the search is then a list.
 */
import type { Entry, Found } from './docsSearch.ts';

const SHOWN_MS = 1500;

for (const block of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy small';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent ?? '').then(
      () => show(button, 'Copied'),
      () => show(button, 'Not allowed'),
    );
  });
  const frame = document.createElement('div');
  frame.className = 'code';
  block.replaceWith(frame);
  frame.append(block, button);
}

function show(button: HTMLButtonElement, text: string): void {
  button.textContent = text;
  setTimeout(() => {
    button.textContent = 'Copy';
  }, SHOWN_MS);
}

type Search = {
  readonly ENTRIES: readonly Entry[];
  readonly searchOver: (entries: readonly Entry[]) => (query: string) => Found[];
};

const place = document.querySelector<HTMLElement>('#search');
if (place !== null) void openSearch(place);

// A slash opens the search, as on other pages of documents.
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  event.preventDefault();
  const field = place?.querySelector('input');
  if (field) field.focus();
  else location.assign('/docs/search');
});

/** The words are also after the # of the address, so that a search can be shared and gone back to. */
async function openSearch(frame: HTMLElement): Promise<void> {
  const field = document.createElement('input');
  field.type = 'search';
  field.placeholder = 'A word, a number of a rule, a code, a setting, a command';
  field.setAttribute('aria-label', 'Search the documents');
  field.value = wordsInAddress();
  const status = document.createElement('p');
  status.setAttribute('role', 'status');
  const list = document.createElement('ol');
  list.className = 'found';
  frame.append(field, status, list);
  field.focus();
  frame.addEventListener('keydown', (event) => moveThrough(event, field, list));
  const { ENTRIES, searchOver }: Search = await import(frame.dataset['index'] ?? '');
  const search = searchOver(ENTRIES);
  const show = (): void => {
    const found = search(field.value);
    list.replaceChildren(...found.map(itemOf));
    const isEmpty = field.value.trim() === '';
    status.textContent = isEmpty
      ? ''
      : found.length === 0
        ? 'Nothing found'
        : `${found.length} found, the likeliest first`;
    document.querySelector<HTMLElement>('#everything')!.hidden = !isEmpty;
  };
  field.addEventListener('input', () => {
    history.replaceState(null, '', `#${encodeURIComponent(field.value)}`);
    show();
  });
  window.addEventListener('hashchange', () => {
    field.value = wordsInAddress();
    show();
  });
  show();
}

/** The arrow keys move through the results, Enter in the field opens the first, Escape clears the search. */
function moveThrough(event: KeyboardEvent, field: HTMLInputElement, list: HTMLElement): void {
  const links = [...list.querySelectorAll('a')];
  const stops: HTMLElement[] = [field, ...links];
  const { activeElement } = document;
  const at = activeElement instanceof HTMLElement ? stops.indexOf(activeElement) : -1;
  if (event.key === 'ArrowDown') stops[Math.min(at + 1, links.length)].focus();
  else if (event.key === 'ArrowUp') stops[Math.max(at - 1, 0)].focus();
  else if (event.key === 'Enter' && at === 0) links[0]?.click();
  else if (event.key === 'Escape') {
    field.value = '';
    field.dispatchEvent(new Event('input'));
    field.focus();
  } else return;
  event.preventDefault();
}

function itemOf({ entry: { kind, title, page, href }, excerpt }: Found): HTMLElement {
  const link = document.createElement('a');
  link.href = href;
  link.textContent = title;
  const about = document.createElement('span');
  about.className = 'quiet';
  about.textContent = title === page ? kind : `${kind} · ${page}`;
  const text = document.createElement('p');
  text.textContent = excerpt;
  const item = document.createElement('li');
  item.append(link, ' ', about, text);
  return item;
}

function wordsInAddress(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return '';
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}
