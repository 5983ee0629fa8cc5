/**
 * One of a few that are all in view: radio buttons that look like chips, and tabs. As in every group of either, the Tab
 * key reaches the chosen one, and the arrow keys choose the one beside it.
 */
import { html } from 'htm/preact';
import type { ComponentChildren, VNode } from 'preact';

type ChoicesProps<V> = {
  /** The name of the group, for those who do not see it. */
  readonly label: string;
  readonly chosen: V;
  readonly choices: readonly (readonly [value: V, label: ComponentChildren])[];
  readonly onChoose: (value: V) => void;
  /** Further classes of the row. */
  readonly look?: string;
};

export function Choices<V>({ label, chosen, choices, onChoose, look = '' }: ChoicesProps<V>): VNode {
  const hasChosen = choices.some(([value]) => value === chosen);
  return html`<div class=${`chips ${look}`} role="radiogroup" aria-label=${label} onKeyDown=${chooseByKey}>
    ${choices.map(
      ([value, text], at) => html`<button key=${String(value)} type="button"
        ...${asRadio(value === chosen, !hasChosen && at === 0)} onClick=${() => onChoose(value)}>${text}</button>`,
    )}</div>`;
}

/** @param isFirst where none is chosen, the Tab key reaches the first one */
export function asRadio(isChosen: boolean, isFirst = false): object {
  return { role: 'radio', 'aria-checked': isChosen, tabindex: isChosen || isFirst ? 0 : -1 };
}

type TabsProps<V> = ChoicesProps<V> & {
  /** The id of the panel that shows what belongs to the chosen tab: an element with `asPanel`. */
  readonly panel: string;
};

export function Tabs<V extends string>({ label, chosen, choices, onChoose, look = '', panel }: TabsProps<V>): VNode {
  return html`<div class=${`chips ${look}`} role="tablist" aria-label=${label} onKeyDown=${chooseByKey}>
    ${choices.map(
      ([value, text]) => html`<button key=${value} id=${tabId(panel, value)} type="button" role="tab"
        aria-selected=${value === chosen} aria-controls=${panel} tabindex=${value === chosen ? 0 : -1}
        onClick=${() => onChoose(value)}>${text}</button>`,
    )}</div>`;
}

/** The attributes of the panel; its own fields take the focus, so the panel takes none. */
export function asPanel(panel: string, chosen: string): object {
  return { id: panel, role: 'tabpanel', 'aria-labelledby': tabId(panel, chosen) };
}

function tabId(panel: string, value: string): string {
  return `${panel}-${value}`;
}

/** For the row of buttons with one of these roles. */
export function chooseByKey(event: KeyboardEvent): void {
  const row = event.currentTarget;
  if (!(row instanceof HTMLElement) || !(event.target instanceof HTMLButtonElement)) return;
  const all = [...row.querySelectorAll<HTMLButtonElement>('[role="radio"], [role="tab"]')];
  const next = all[nextAt(event.key, all.indexOf(event.target), all.length)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
  next.click();
}

/** @returns where the key leads from there, around the ends; -1 for any other key */
function nextAt(key: string, at: number, count: number): number {
  if (at === -1) return -1;
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  if (key === 'ArrowLeft' || key === 'ArrowUp') return (at + count - 1) % count;
  return key === 'ArrowRight' || key === 'ArrowDown' ? (at + 1) % count : -1;
}
