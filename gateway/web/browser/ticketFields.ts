/** The fields of the order ticket for the chosen kind of order, each with its problem beside it. */
import { html } from 'htm/preact';
import type { ComponentChildren, TargetedEvent, VNode } from 'preact';
import { centsOf, type Kind, type Problem, stepCents, type Ticket } from './preview.ts';
import { typedDecimal } from './typedNumber.ts';

const KINDS: readonly (readonly [Kind, string])[] = [
  ['GTC', 'Limit, until cancelled'],
  ['GTD', 'Limit, until a time'],
  ['MARKET', 'Market, at the best prices'],
  ['FAK', 'Limit, at once: the rest is cancelled'],
  ['FOK', 'Limit, all at once or nothing'],
];
const SELF_TRADES: readonly (readonly [Ticket['selfTrade'], string])[] = [
  ['none', 'they trade'],
  ['cancel_newest', 'this one is cancelled'],
  ['cancel_oldest', 'that one is cancelled'],
  ['cancel_both', 'both are cancelled'],
];
const SLIPPAGES = [0, 1, 2, 5, 10];
const SHARES: readonly (readonly [string, bigint])[] = [
  ['25%', 4n],
  ['50%', 2n],
  ['Max', 1n],
];
const PROBLEM_ID = 'ticket-problem';
/** Steps of the arrow keys with Shift. */
const MANY = 10;
const TOKEN = 1_000_000;

type FieldsProps = {
  readonly ticket: Ticket;
  readonly ticksPerUnit: number;
  readonly problem: Problem | null;
  readonly onChange: (changed: Partial<Ticket>) => void;
  /** Fills in a part of the available amount: one half for 2. */
  readonly onShare: (divisor: bigint) => void;
};

export function TicketFields(props: FieldsProps): VNode {
  const { ticket, problem, onChange } = props;
  const { kind, side } = ticket;
  const isMarket = kind === 'MARKET';
  const isResting = kind === 'GTC' || kind === 'GTD';
  return html`
    <${Field} label="Kind"><select value=${kind}
      onChange=${(event: Typed) => onChange({ kind: chosenIn(KINDS, event) })}>
      ${KINDS.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}
    </select></${Field}>
    ${!isMarket && html`<${PriceField} ...${props} />`}
    ${isMarket && side === 'BUY' ? html`<${BudgetField} ...${props} />` : html`<${SizeField} ...${props} />`}
    ${isMarket && html`<${SlippageField} ...${props} />`}
    ${
      kind === 'GTD' &&
      html`<${Field} label="Until"><input type="datetime-local" value=${ticket.expiresAt}
        ...${invalid(problem, 'expiry')}
        onInput=${(event: Typed) => onChange({ expiresAt: typedIn(event) })} /></${Field}>`
    }
    <p id=${PROBLEM_ID} class="problem">${problem?.text ?? ''}</p>
    <details class="more-fields"><summary>More</summary>
      ${isResting ? html`<${PostOnlyField} ...${props} />` : html`<${LeastNetField} ...${props} />`}
      <${Field} label="If it meets your own order">
        <select value=${ticket.selfTrade}
          onChange=${(event: Typed) => onChange({ selfTrade: chosenIn(SELF_TRADES, event) })}>
          ${SELF_TRADES.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}
        </select></${Field}>
      <p class="quiet">Arrow keys change price and size, with Shift ten steps. Alt+B buys, Alt+S sells.</p>
    </details>
  `;
}

/** The browser's time this many minutes from now, in the format of the field. */
export function minutesAhead(minutes: number): string {
  const time = new Date(Date.now() + minutes * 60_000);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function PriceField({ ticket, ticksPerUnit, problem, onChange }: FieldsProps): VNode {
  const step = (byTicks: number): void => onChange({ cents: stepCents(ticket.cents, ticksPerUnit, byTicks) });
  // A label around the field would belong to its first button.
  return html`<div class="field"><label for="ticket-price">Price in cents</label><span class="stepper">
    <button type="button" tabindex="-1" aria-label="A tick lower" onClick=${() => step(-1)}>−</button>
    <input id="ticket-price" inputmode="decimal" autocomplete="off" name="price" value=${ticket.cents}
      ...${invalid(problem, 'price')} onInput=${(event: Typed) => onChange({ cents: typedIn(event) })}
      onKeyDown=${arrows(step)} />
    <button type="button" tabindex="-1" aria-label="A tick higher" onClick=${() => step(1)}>+</button>
  </span></div>`;
}

function SizeField({ ticket, problem, onChange, onShare }: FieldsProps): VNode {
  const step = (by: number): void => onChange({ size: stepped(ticket.size, by) });
  return html`<${Field} label="Tokens"><input inputmode="decimal" autocomplete="off" name="size" value=${ticket.size}
    ...${invalid(problem, 'size')} onInput=${(event: Typed) => onChange({ size: typedIn(event) })}
    onKeyDown=${arrows(step)} /></${Field}>
    <${Shares} onShare=${onShare} />`;
}

function BudgetField({ ticket, problem, onChange, onShare }: FieldsProps): VNode {
  const step = (by: number): void => onChange({ budget: stepped(ticket.budget, by) });
  return html`<${Field} label="Dollars to spend"><input inputmode="decimal" autocomplete="off" name="budget"
    value=${ticket.budget} ...${invalid(problem, 'budget')} onKeyDown=${arrows(step)}
    onInput=${(event: Typed) => onChange({ budget: typedIn(event) })} /></${Field}>
    <${Shares} onShare=${onShare} />`;
}

function Shares({ onShare }: Pick<FieldsProps, 'onShare'>): VNode {
  return html`<div class="chips small shares" role="group" aria-label="Part of what you have">${SHARES.map(
    ([label, divisor]) => html`<button key=${label} type="button" onClick=${() => onShare(divisor)}>${label}</button>`,
  )}</div>`;
}

function SlippageField({ ticket, ticksPerUnit, onChange }: FieldsProps): VNode {
  const cents = (ticks: number): string => `${centsOf(ticks, ticksPerUnit)}¢ worse`;
  return html`<${Field} label="If the book moves"><select value=${ticket.slippageTicks}
    onChange=${(event: Typed) => onChange({ slippageTicks: Number(typedIn(event)) })}>
    ${SLIPPAGES.map(
      (ticks) =>
        html`<option key=${ticks} value=${ticks}>${
          ticks === 0 ? 'only prices of now' : `up to ${cents(ticks)}`
        }</option>`,
    )}
  </select></${Field}>`;
}

function PostOnlyField({ ticket, onChange }: FieldsProps): VNode {
  return html`<label class="check"><input type="checkbox" checked=${ticket.isPostOnly}
    onChange=${({ currentTarget }: TargetedEvent<HTMLInputElement>) =>
      onChange({ isPostOnly: currentTarget.checked })} />
    <span>Post-only: refuse it if it would trade at once</span></label>`;
}

function LeastNetField({ ticket, problem, onChange }: FieldsProps): VNode {
  const asset = ticket.side === 'BUY' ? 'tokens' : 'dollars';
  return html`<${Field} label=${`At least, in ${asset}`}><input inputmode="decimal" autocomplete="off" name="net"
    value=${ticket.leastNet} placeholder="any" ...${invalid(problem, 'net')}
    onInput=${(event: Typed) => onChange({ leastNet: typedIn(event) })} /></${Field}>`;
}

function Field({ label, children }: { readonly label: string; readonly children?: ComponentChildren }): VNode {
  return html`<label class="field"><span>${label}</span>${children}</label>`;
}

function invalid(problem: Problem | null, field: Problem['field']): object {
  return problem?.field === field ? { 'aria-invalid': 'true', 'aria-describedby': PROBLEM_ID } : {};
}

function arrows(step: (by: number) => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    step((event.key === 'ArrowUp' ? 1 : -1) * (event.shiftKey ? MANY : 1));
  };
}

/** Returns the number plus or minus whole units; a text that is no number counts as zero. */
function stepped(text: string, by: number): string {
  const micro = Math.round(Number(typedDecimal(text)) * TOKEN);
  const next = (Number.isSafeInteger(micro) ? micro : 0) + by * TOKEN;
  return String(Math.max(TOKEN, next) / TOKEN);
}

/** One of the options of the field. */
function chosenIn<V extends string>(choices: readonly (readonly [V, string])[], event: Typed): V {
  return choices.find(([value]) => value === typedIn(event))![0];
}

type Typed = TargetedEvent<HTMLInputElement | HTMLSelectElement>;

function typedIn({ currentTarget }: Typed): string {
  return currentTarget.value;
}
