/**
 * Reads numbers as people type and paste them: `12,5` where a phone has no point, `.5`, `10.`, `$1,234.50`, `1.234,50`.
 * A number that could be two is not read.
 */

/** Thousands or a decimal: "1,234" is 1234 to some people and 1.234 to others. */
const TWO_READINGS = /^[1-9]\d{0,2},\d{3}$/;
const PLAIN = /^(?:\d+[.,]?\d*|[.,]\d+)$/;
/** The decimal sign differs from the sign between groups of three digits; without decimals there are several groups. */
const GROUPED = /^\d{1,3}(?:(?:,\d{3})+\.\d*|(?:\.\d{3})+,\d*|(?:,\d{3}){2,}|(?:\.\d{3}){2,})$/;
/** Spaces of any width stand between groups too. */
const SPACES = /\s/g;
const SIGNS = /^\$|[$¢]$/g;

/** Returns the number with a point and without signs or groups, "1234.50"; empty if it is no number or two. */
export function typedDecimal(text: string): string {
  const bare = bareOf(text);
  if (TWO_READINGS.test(bare)) return '';
  if (PLAIN.test(bare)) return withDigits(bare.replace(',', '.'));
  if (!GROUPED.test(bare)) return '';
  const last = Math.max(bare.lastIndexOf('.'), bare.lastIndexOf(','));
  const isMixed = bare.includes('.') && bare.includes(',');
  const [whole, decimals] = isMixed ? [bare.slice(0, last), bare.slice(last + 1)] : [bare, ''];
  return withDigits(`${whole.replace(/[.,]/g, '')}.${decimals}`);
}

/** Returns what to write instead of a number that could be two; null for any other text. */
export function doubtOf(text: string): string | null {
  const bare = bareOf(text);
  if (!TWO_READINGS.test(bare)) return null;
  return `${bare} can be read in two ways: write ${bare.replace(',', '')} or ${bare.replace(',', '.')}.`;
}

function bareOf(text: string): string {
  return text.replace(SPACES, '').replace(SIGNS, '');
}

/** ".5" is "0.5", and "10." is "10". */
function withDigits(decimal: string): string {
  const [whole, decimals = ''] = decimal.split('.');
  const digits = whole.replace(/^0+(?=\d)/, '');
  return `${digits === '' ? '0' : digits}${decimals === '' ? '' : `.${decimals}`}`;
}
