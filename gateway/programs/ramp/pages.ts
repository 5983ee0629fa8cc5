/**
 * The pages of the sandbox provider, on which a person plays the customer and makes the provider misbehave. They are
 * whole documents without scripts: a form is sent, and the next page shows the result.
 */
import { unitsToDecimal } from '../../../shared/base/units.ts';
import type { DealRow, LaunchRow, RampKind } from './store.ts';
import { STATUSES, type Switches } from './switches.ts';

/** Customers choose one of these; partners preset them by the same names. */
export const METHODS: Readonly<Record<RampKind, Readonly<Record<string, string>>>> = {
  onramp: { CARD: 'Card', ACH_BANK_ACCOUNT: 'Bank account' },
  offramp: { ACH_BANK_ACCOUNT: 'Bank account', PAYPAL: 'PayPal' },
};

/** Text that is inserted into the document unescaped. */
class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Markup | readonly Markup[];

/** Escapes everything except Markup. */
function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const text = strings.reduce((all, string, index) => all + rendered(parts[index - 1]) + string);
  return new Markup(text);
}

function rendered(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function documentOf(title: string, body: Markup): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Sandbox provider</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header><p>Sandbox provider <span>no real money moves here</span></p></header>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text;
}

export function notePage(title: string, note: string): string {
  return documentOf(title, html`<p>${note}</p>`);
}

export type Wrong = { readonly field: 'amount' | 'method'; readonly message: string };

/** The page on which the customer chooses. @param typed the fields as they were sent, if one of them was wrong. */
export function agreePage(launch: LaunchRow, wrong: Wrong | null, typed: { amount: string; method: string }): string {
  const isBuy = launch.kind === 'onramp';
  const { currency } = launch;
  const chosen = typed.method || launch.method;
  const methods = Object.entries(METHODS[launch.kind]).map(([value, label], index) => {
    const isChosen = chosen === value || (index === 0 && METHODS[launch.kind][chosen] === undefined);
    const checked = isChosen ? html` checked` : html``;
    return html`<label><input type="radio" name="method" value="${value}"${checked}> ${label}</label>`;
  });
  const amount = typed.amount || (launch.amount_micro === null ? '' : unitsToDecimal(launch.amount_micro));
  const alert = wrong === null ? html`` : html`<p id="wrong" role="alert" class="wrong">${wrong.message}</p>`;
  const described = wrong?.field === 'amount' ? html` aria-invalid="true" aria-describedby="wrong"` : html``;
  return documentOf(
    isBuy ? 'Buy USDC' : 'Sell USDC',
    html`<p>1 USDC is 1 ${currency} here, without a fee.</p>
${alert}
<form method="post" action="/customer/agree">
<label for="amount">Amount in ${isBuy ? currency : 'USDC'}</label>
<input id="amount" name="amount" inputmode="decimal" autocomplete="off" required value="${amount}"${described}>
<fieldset><legend>${isBuy ? 'Pay with' : 'Receive at'}</legend>
${methods}
</fieldset>
<dl><dt>${isBuy ? 'USDC goes to' : 'USDC comes from'}</dt><dd>${launch.wallet}</dd></dl>
<button class="primary">${isBuy ? 'Pay now' : 'Cash out now'}</button>
</form>
<form method="post" action="/customer/abandon"><button>Leave without ${isBuy ? 'paying' : 'selling'}</button></form>`,
  );
}

const SAID: Readonly<Record<RampKind, Readonly<Record<DealRow['status'], string>>>> = {
  onramp: {
    created: 'Paid. The USDC is being sent.',
    started: 'Paid. The USDC is on its way.',
    success: 'The USDC has arrived.',
    failed: 'The purchase has failed. Nothing was kept of your payment.',
    expired: 'The purchase has expired.',
    refunded: 'Your payment was given back.',
  },
  offramp: {
    created: 'Agreed. Send the USDC from the exchange within 30 minutes.',
    started: 'The USDC has arrived. Your bank is being paid.',
    success: 'Your bank was paid.',
    failed: 'The sale has failed. USDC that has arrived goes back to your wallet.',
    expired: 'The sale has expired: no USDC has arrived in time.',
    refunded: 'The USDC was sent back to your wallet.',
  },
};

export function dealPage({ return_url }: LaunchRow, deal: DealRow): string {
  const isBuy = deal.kind === 'onramp';
  const amount = unitsToDecimal(deal.amount_micro);
  const back =
    return_url === null ? html`` : html`<p><a class="button primary" href="${return_url}">Back to the exchange</a></p>`;
  const again = deal.is_open === 1 ? html`<p><a class="button" href="/customer">Look again</a></p>` : html``;
  const hash = deal.tx_hash === null ? html`` : html`<dt>Transaction</dt><dd>${deal.tx_hash}</dd>`;
  return documentOf(
    isBuy ? 'Your purchase' : 'Your sale',
    html`<p role="status" class="said">${SAID[deal.kind][deal.status]}</p>
<dl><dt>${isBuy ? 'You buy' : 'You sell'}</dt><dd>${amount} USDC for ${amount} ${deal.currency}</dd>
<dt>State</dt><dd>${deal.status}</dd>${hash}</dl>
${back}${again}`,
  );
}

const LABELS: Readonly<Record<keyof Switches, string>> = {
  listDelayMs: 'A sale is listed after (ms)',
  payoutDelayMs: 'The bank is paid after (ms)',
  hookDelayMs: 'Events are late by (ms)',
  hookCopies: 'Times that each event is sent (0 loses it)',
  hooksReversed: 'Later events are sent first',
  hooksContradict: 'Events say the opposite',
  listedStatus: 'Lists give every deal this status',
  listedHash: 'Lists name this transaction',
  listedNetwork: 'Lists name this network',
  paymentsDeclined: 'Payments are declined',
  payoutsFail: 'Sales fail after the USDC has arrived',
  returnsUsdc: 'USDC of failed sales goes back',
  statements: 'Statements are',
  answers: 'The interface for partners answers',
};
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  listedStatus: ['', ...STATUSES],
  statements: ['right', 'omitting', 'inventing', 'altering', 'refunding', 'charging_back'],
  answers: ['right', 'errors', 'hanging', 'garbage', 'empty'],
};

export function switchesPage(switches: Switches, said: string): string {
  const fields = Object.entries(LABELS).map(([name, label]) => fieldOf(name, label, switches[name as keyof Switches]));
  const status = said === '' ? html`` : html`<p role="status" class="said">${said}</p>`;
  return documentOf(
    'Make it misbehave',
    html`<p>These hold for all customers at once, until they are changed again.</p>
${status}
<form method="post" action="/switches" class="switches">${fields}<button class="primary">Set</button></form>`,
  );
}

function fieldOf(name: string, label: string, value: string | number | boolean): Markup {
  if (typeof value === 'boolean') {
    const checked = value ? html` checked` : html``;
    return html`<label><input type="checkbox" name="${name}"${checked}> ${label}</label>`;
  }
  const choices = CHOICES[name];
  const options = choices?.map((choice) => {
    const selected = choice === value ? html` selected` : html``;
    return html`<option value="${choice}"${selected}>${choice === '' ? 'as it is' : choice}</option>`;
  });
  const input =
    options === undefined
      ? html`<input id="${name}" name="${name}" value="${value}">`
      : html`<select id="${name}" name="${name}">${options}</select>`;
  return html`<label for="${name}">${label}</label>${input}`;
}

/** @returns the changes as `trySwitched` takes them: an unchecked box is not sent. */
export function switchesOf(form: URLSearchParams, usual: Switches): object {
  return Object.fromEntries(
    Object.entries(usual).map(([name, value]) => {
      const sent = form.get(name) ?? '';
      if (typeof value === 'boolean') return [name, sent === 'on'];
      return [name, typeof value === 'number' ? (/^[0-9]{1,9}$/.test(sent) ? Number(sent) : null) : sent];
    }),
  );
}
