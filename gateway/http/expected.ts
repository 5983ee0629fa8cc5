/** Words for the details of a refusal (RULES.md 6.1): they say which values the schema takes for the field. */
import type { ErrorObject } from 'ajv';
import type { JsonSchema } from '../../shared/api/schema.ts';

/** The keyword of a number or text that has a unit, in the document as well. */
export const UNIT = 'x-unit';

export const FORMAT_WORDS = {
  uuid: 'a UUID',
  address: '20 bytes in hex after 0x',
  hash: '32 bytes in hex after 0x',
  uint256: 'an integer from 0 to 2^256-1 as a text of digits',
  amount: 'an integer from 1 to 10^15 as a text of digits',
  'date-time': 'a time with its zone, as in 2026-10-01T12:00:00Z',
  'date-time-or-utc': 'a time, as in 2026-10-01T12:00:00Z, or a day',
} as const satisfies Readonly<Record<string, string>>;

/** Undefined where the rule says it all, as for a field that is missing. */
export function expectedOf({ keyword, params, parentSchema }: ErrorObject): string | undefined {
  const words = wordsOf(keyword, params, parentSchema ?? {});
  const unit = parentSchema?.[UNIT];
  return words !== undefined && unit !== undefined ? `${words}, in ${unit}` : words;
}

function wordsOf(keyword: string, params: Record<string, unknown>, schema: JsonSchema): string | undefined {
  switch (keyword) {
    case 'type':
      return [params['type']].flat().join(' or ');
    case 'enum':
      return [params['allowedValues']].flat().map(String).join(', ');
    case 'const':
      return String(params['allowedValue']);
    case 'minimum':
    case 'maximum':
      return rangeOf(schema);
    case 'minLength':
      return `at least ${params['limit']} characters`;
    case 'maxLength':
      return `at most ${params['limit']} characters`;
    case 'minItems':
      return `at least ${params['limit']} items`;
    case 'maxItems':
      return `at most ${params['limit']} items`;
    case 'format':
      return (FORMAT_WORDS as Readonly<Record<string, string>>)[String(params['format'])];
    case 'pattern':
      return `a text that matches ${params['pattern']}`;
    default:
      return undefined;
  }
}

function rangeOf({ minimum, maximum }: JsonSchema): string {
  if (minimum === undefined) return `at most ${maximum}`;
  return maximum === undefined ? `at least ${minimum}` : `${minimum} to ${maximum}`;
}
