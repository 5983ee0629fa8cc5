/** The details of a refusal as people read them: amounts in USDC and tokens, and no JSON. */
import { decimal } from './text.ts';

const UNITS_FORM = /^-?\d{1,20}$/;

/** Rules without further details, in words. */
const RULES: Readonly<Record<string, string>> = {
  known: 'is not known',
  required: 'is missing',
  absent: 'is not accepted here',
};

/** Amounts of a refusal whose asset stands beside them. */
const OF_ASSET: readonly string[] = ['required', 'available', 'reserved'];

export function detailsInWords(details: unknown): string[] {
  if (details === undefined || details === null) return [];
  if (typeof details !== 'object') return [String(details)];
  if (Array.isArray(details)) return details.flatMap(detailsInWords);
  const { field, rule, expected, value, asset, ...others }: Record<string, unknown> = { ...details };
  const unit = asset === undefined || asset === 'USDC' ? 'USDC' : `${asset} tokens`;
  const rows = Object.entries(others).map(([name, one]) => rowOf(name, one, unit));
  if (field === undefined) return rows;
  const what = RULES[String(rule)];
  const named = rule === 'known' && value !== undefined ? `${field}: ${value}` : String(field);
  if (expected === undefined && what !== undefined) return [`${named} ${what}`, ...rows];
  const why = expected ?? rule;
  const sent = value === undefined ? '' : `, not ${typeof value === 'object' ? JSON.stringify(value) : value}`;
  return [`${field}${why === undefined ? '' : `: ${why}`}${sent}`, ...rows];
}

function rowOf(name: string, value: unknown, unit: string): string {
  const words = name.replace(/_(?:usdc_micro|micro|atomic)$/, '').replaceAll('_', ' ');
  if (!UNITS_FORM.test(String(value))) return `${words}: ${typeof value === 'object' ? JSON.stringify(value) : value}`;
  const amount = String(value);
  if (name === 'remaining') return `${words}: ${decimal(amount)} of what the order gives`;
  if (OF_ASSET.includes(name)) return `${words}: ${decimal(amount)} ${unit}`;
  if (/_micro$/.test(name)) return `${words}: ${decimal(amount)} USDC`;
  if (/_atomic$/.test(name)) return `${words}: ${decimal(amount)} tokens`;
  return `${words}: ${amount}`;
}
