/** The catalogue of errors as Markdown, from the error table and the notes about it: /docs/errors. */
import { REPEATS } from '../../shared/api/errorNote.ts';
import { ERROR_NOTES } from '../../shared/api/errorNotes.ts';
import { ERRORS, type ErrorKey, type ErrorRow } from '../../shared/base/errors.ts';
import { namesOf } from '../../shared/base/namesOf.ts';

const INTRO = `# Errors

Every refusal has a body of this form; \`details\` only where there is something to say:

\`\`\`json
{"error": "insufficient balance", "code": "INSUFFICIENT_BALANCE", "details": {"asset": "USDC", "required": "5500000"}}
\`\`\`

Programs act on \`code\`, and on \`error\` where a code has several messages. The messages below are part of the
interface and are not reworded; some are more specific, such as \`missing field: salt\`. The reference of an exchange,
\`/docs/api\`, lists the errors of each route.

When several errors apply, the first of this page is the answer. A refusal has changed nothing, except where this page
says that the outcome is open. What to do about lost answers: [Errors, retries and idempotency](retries.md).

An answer to a request with an \`Idempotency-Key\` is kept and sent again where this page says *kept*: for another try
after such a refusal take another key.`;

/** Errors that come before a stored answer is looked up, or because of the key itself. */
const BEFORE_THE_KEY: ReadonlySet<ErrorKey> = new Set([
  'RATE_LIMITED',
  'RATE_LIMIT_DEPENDENCY_UNAVAILABLE',
  'IDEMPOTENCY_KEY_MALFORMED',
]);
const FIRST_KEPT = 300;
/** More routes would be too many to read. */
const MAX_ROUTES = 12;

/** @param routesOf the known routes that answer a code: method and path */
export function errorsPage(routesOf: (code: string) => readonly string[] = () => []): string {
  const byCode = Map.groupBy(namesOf(ERRORS), (key) => ERRORS[key].code);
  const index = [...byCode].map(([code, keys]) => {
    const statuses = [...new Set(keys.map((key) => ERRORS[key].status))];
    return `| [\`${code}\`](#${code.toLowerCase()}) | ${statuses.join(', ')} | ${messagesOf(keys).join(' · ')} |`;
  });
  const table = ['| code | HTTP | messages |', '|---|---|---|', ...index].join('\n');
  return `${[INTRO, table, ...[...byCode].map(([code, keys]) => chapter(code, keys, routesOf(code)))].join('\n\n')}\n`;
}

function messagesOf(keys: readonly ErrorKey[]): string[] {
  return [...new Set(keys.map((key) => ERRORS[key].message))];
}

function chapter(code: string, keys: readonly ErrorKey[], routes: readonly string[]): string {
  const few = `Answered by ${routes.map((name) => `\`${name}\``).join(', ')}.`;
  const where = routes.length > MAX_ROUTES ? `Answered by ${routes.length} routes.` : few;
  return [`## ${code}`, ...(routes.length === 0 ? [] : [where]), ...keys.map(entry)].join('\n\n');
}

function entry(key: ErrorKey): string {
  const row: ErrorRow = ERRORS[key];
  const { means, repeat, act } = ERROR_NOTES[key];
  return [
    `**${row.message}** (HTTP ${row.status}, number ${row.number}). ${means}`,
    '',
    `- What to do: ${act}`,
    `- Send it again? ${REPEATS[repeat]}`,
    `- With an \`Idempotency-Key\`: ${keptText(key, row)}.`,
  ].join('\n');
}

function keptText(key: ErrorKey, { number, storable }: ErrorRow): string {
  if (number < FIRST_KEPT || BEFORE_THE_KEY.has(key) || storable === 'never') return 'not kept';
  return storable === 'batch' ? 'kept on the batch routes only' : 'kept';
}
