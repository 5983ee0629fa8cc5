/** The view that the address names. Links change the address without loading the document again. */
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export type Place = {
  readonly path: string;
  readonly query: URLSearchParams;
  /** 0 at the place where the document was loaded, and one more with each move. */
  readonly moves: number;
};

const MOVED = 'placemoved';

export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeNow(0));
  useEffect(() => {
    const update = (): void => setPlace(({ moves }) => placeNow(moves + 1));
    addEventListener('popstate', update);
    addEventListener(MOVED, update);
    return () => {
      removeEventListener('popstate', update);
      removeEventListener(MOVED, update);
    };
  }, []);
  return place;
}

export function goTo(target: string): void {
  history.pushState(null, '', target);
  scrollTo(0, 0);
  dispatchEvent(new Event(MOVED));
}

/** Changes the address without a new entry in the history, for filters of a list. */
export function replaceQuery(query: URLSearchParams): void {
  history.replaceState(null, '', query.size === 0 ? location.pathname : `?${query}`);
}

const SITE = document.title;

/** Sets the title, by which the tab and the browser's history name the view. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined ? SITE : `${title} · ${SITE}`;
    return () => {
      document.title = SITE;
    };
  }, [title]);
}

type LinkProps = { readonly to: string; readonly children?: unknown; readonly [attribute: string]: unknown };

/** A click for another tab or window is left to the browser. */
export function Link({ to, children, ...attributes }: LinkProps): VNode {
  const onClick = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    goTo(to);
  };
  return html`<a href=${to} onClick=${onClick} ...${attributes}>${children}</a>`;
}

function placeNow(moves: number): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search), moves };
}
