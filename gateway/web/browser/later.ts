/** Loads the code of views when they are first shown, so that the first view does not wait for it. */
import { html } from 'htm/preact';
import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { part } from './parts.ts';
import { ToCome } from './toCome.ts';

export function later<P>(load: () => Promise<ComponentType<P>>): (props: P) => VNode {
  let loaded: ComponentType<P> | null = null;
  return function Later(props: P): VNode {
    const [, draw] = useState(0);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded !== null) return;
      const show = (component: ComponentType<P>): void => {
        loaded = component;
        draw(1);
      };
      part(load).then(show, () => setFailed(true));
    }, []);
    if (loaded !== null) return html`<${loaded} ...${props} />`;
    if (!hasFailed) return html`<${ToCome} lines=${8} />`;
    return html`<h1>This view could not be loaded</h1>
      <p><button type="button" onClick=${() => location.reload()}>Load the page again</button></p>`;
  };
}
