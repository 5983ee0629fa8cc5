/** The fields of the order ticket for the chosen tab, each with its problem beside it. */
import { html } from 'htm/preact';
import type { ComponentChildren, TargetedEvent, VNode } from 'preact';
import { centsOf, type Kind, type Problem, spendsBudget, stepCents } from './preview.ts';
import type { ChangeDraft, Draft } from './ticketState.ts';
import { typedDecimal } from './typedNumber.ts';

const LIMIT_KINDS: readonly (readonly [Kind, string])[] = [
  ['GTC', 'waits in the book'],
  ['FAK', 'is cancelled'],
  ['FOK', 'cancels all of it'],
];
const MAKER_KINDS: readonly (readonly [Kind, string])[] = [
  ['GTC', 'until it is cancelled'],
  ['GTD', 'until a time'],
];
const SELF_TRADES: readonly (readonly [Draft['selfTrade'], string])[] = [
  ['none', 'they trade'],
  ['cancel_newest', 'this one is cancelled'],
  ['cancel_oldest', 'that one is cancelled'],
  ['cancel_both', 'both are cancelled'],
];
/** In cents; on a grid of larger steps in ticks. */
const SLIPPAGES = [0, 1, 2, 5, 10];
const CENTS_A_UNIT = 100;
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
  readonly draft: Draft;
  readonly ticksPerUnit: number;
  readonly problem: Problem | null;
  readonly onChange: ChangeDraft;
  /** Fills in a part of the available amount, one half for 2; null while that is unknown. */
  readonly onShare: ((divisor: bigint) => void) | null;
};

export function TicketFields(props: FieldsProps): VNode {
  const { draft, problem, onChange } = props;
  const { tab, kind } = draft;
  const choose = (chosen: Kind): void => onChange({ kind: chosen });
  return html`
    ${tab !== 'market' && html`<${PriceField} ...${props} />`}
    <${AmountField} ...${props} />
    ${tab === 'market' && html`<${SlippageField} ...${props} />`}
    ${tab === 'maker' && html`<${Choices} label="It waits" value=${kind} choices=${MAKER_KINDS} onChoose=${choose} />`}
    ${
      kind === 'GTD' &&
      html`<${Field} label="Until"><input type="datetime-local" value=${draft.expiresAt}
        ...${invalid(problem, 'expiry')}
        onInput=${(event: Typed) => onChange({ expiresAt: typedIn(event) })} /></${Field}>`
    }
    <p id=${PROBLEM_ID} class="problem">${problem?.text ?? ''}</p>
    <details class="more-fields"><summary>More</summary>
      ${
        tab === 'limit' &&
        html`<${Choices} label="What does not trade at once" value=${kind} choices=${LIMIT_KINDS}
          onChoose=${choose} />`
      }
      ${(kind === 'FAK' || kind === 'FOK' || kind === 'MARKET') && html`<${LeastNetField} ...${props} />`}
      <${Choices} label="If it meets your own order" value=${draft.selfTrade} choices=${SELF_TRADES}
        onChoose=${(selfTrade: Draft['selfTrade']) => onChange({ selfTrade })} />
    </details>
  `;
}

function PriceField({ draft, ticksPerUnit, problem, onChange }: FieldsProps): VNode {
  const chosen = (cents: string): void => onChange({ cents, isPriceChosen: true });
  const step = (byTicks: number): void => chosen(stepCents(draft.cents, ticksPerUnit, byTicks));
  // A label around the field would belong to its first button.
  return html`<div class="field"><label for="ticket-price">Price in cents</label><span class="stepper">
    <button type="button" tabindex="-1" aria-label="A tick lower" onClick=${() => step(-1)}>−</button>
    <input id="ticket-price" inputmode="decimal" autocomplete="off" name="price" value=${draft.cents}
      ...${invalid(problem, 'price')} onInput=${(event: Typed) => chosen(typedIn(event))}
      onKeyDown=${arrows(step)} />
    <button type="button" tabindex="-1" aria-label="A tick higher" onClick=${() => step(1)}>+</button>
  </span></div>`;
}

/** Dollars or tokens: a buyer at the market chooses which. */
function AmountField({ draft, problem, onChange, onShare }: FieldsProps): VNode {
  const isMoney = spendsBudget(draft);
  const name = isMoney ? 'budget' : 'size';
  const chosen = (text: string): void => onChange(isMoney ? { budget: text } : { size: text });
  return html`<div class="field"><label for="ticket-amount">${isMoney ? 'Dollars' : 'Tokens'}</label>
    <span class="stepper">
      <input id="ticket-amount" inputmode="decimal" autocomplete="off" name=${name} value=${draft[name]}
        ...${invalid(problem, name)} onInput=${(event: Typed) => chosen(typedIn(event))}
        onKeyDown=${arrows((by) => chosen(stepped(draft[name], by)))} />
      ${
        draft.tab === 'market' &&
        draft.side === 'BUY' &&
        html`<button type="button" onClick=${() => onChange({ isInTokens: isMoney })}
          title=${isMoney ? 'Say how many tokens instead' : 'Say how many dollars instead'}>${
            isMoney ? 'in tokens' : 'in dollars'
          }</button>`
      }</span></div>
    ${
      onShare !== null &&
      html`<div class="chips small shares" role="group" aria-label="Part of what you have">${SHARES.map(
        ([label, divisor]) =>
          html`<button key=${label} type="button" onClick=${() => onShare(divisor)}>${label}</button>`,
      )}</div>`
    }`;
}

function SlippageField({ draft, ticksPerUnit, onChange }: FieldsProps): VNode {
  const cents = (ticks: number): string => `${centsOf(ticks, ticksPerUnit)}¢ worse`;
  const choices = [...new Set(SLIPPAGES.map((step) => Math.ceil((step * ticksPerUnit) / CENTS_A_UNIT)))];
  return html`<${Choices} label="If the book moves" value=${String(draft.slippageTicks)}
    choices=${choices.map((ticks) => [String(ticks), ticks === 0 ? 'only prices of now' : `up to ${cents(ticks)}`])}
    onChoose=${(ticks: string) => onChange({ slippageTicks: Number(ticks) })} />`;
}

function LeastNetField({ draft, problem, onChange }: FieldsProps): VNode {
  const asset = draft.side === 'BUY' ? 'tokens' : 'dollars';
  return html`<${Field} label=${`At least, in ${asset}`}><input inputmode="decimal" autocomplete="off" name="net"
    value=${draft.leastNet} placeholder="any" ...${invalid(problem, 'net')}
    onInput=${(event: Typed) => onChange({ leastNet: typedIn(event) })} /></${Field}>`;
}

type ChoicesProps<V extends string> = {
  readonly label: string;
  readonly value: V;
  readonly choices: readonly (readonly [value: V, label: string])[];
  readonly onChoose: (value: V) => void;
};

function Choices<V extends string>({ label, value, choices, onChoose }: ChoicesProps<V>): VNode {
  const onChange = (event: Typed): void => onChoose(choices.find(([each]) => each === typedIn(event))![0]);
  return html`<${Field} label=${label}><select value=${value} onChange=${onChange}>
    ${choices.map(([each, text]) => html`<option key=${each} value=${each}>${text}</option>`)}
  </select></${Field}>`;
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

type Typed = TargetedEvent<HTMLInputElement | HTMLSelectElement>;

function typedIn({ currentTarget }: Typed): string {
  return currentTarget.value;
}
