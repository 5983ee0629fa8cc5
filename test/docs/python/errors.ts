/** The exceptions of the Python client, from the table of errors: a class for each code that clients see. */
import { ERRORS } from '../../../shared/base/errors.ts';

const HEAD = '# Made from the table of errors by `npm run docs`: a change here is lost.';
const WIDTH = 120;

export function errorCodes(): string {
  const rows = Object.values(ERRORS);
  const codes = Map.groupBy(rows, ({ code }) => code);
  const classes = [...codes].map(([code, of]) => {
    const statuses = [...new Set(of.map(({ status }) => status))].join(', ');
    const messages = [...new Set(of.map(({ message }) => message))];
    const [first, ...more] = messages.map((message) => message.replaceAll('"', "'"));
    const one = `    """${statuses}: ${first}."""`;
    const text = more.length === 0 && one.length <= WIDTH ? one : longer(statuses, [first!, ...more]);
    return `class ${nameOf(code)}(ApiError):\n${text}`;
  });
  const table = [...codes.keys()].map((code) => `    "${code}": ${nameOf(code)},`).join('\n');
  const statuses = [...new Set(rows.map(({ status }) => status))].sort((a, b) => a - b).join(', ');
  return `"""The refusals of the exchange: an exception for each code."""

${HEAD}
from __future__ import annotations

from .errors import ApiError


${classes.join('\n\n\n')}


CODES: dict[str, type[ApiError]] = {
${table}
}
STATUSES = frozenset([${statuses}])
"""Every status that the exchange itself gives to a refusal."""
`;
}

/** `FOK_NOT_FILLED` is "FokNotFilledError". */
function nameOf(code: string): string {
  const words = code.split('_').map((word) => word[0] + word.slice(1).toLowerCase());
  return words.join('').replace(/(?:Error)?$/, 'Error');
}

function longer(statuses: string, messages: readonly string[]): string {
  return `    """${statuses}:\n\n${messages.map((message) => `    - ${message}`).join('\n')}\n    """`;
}
