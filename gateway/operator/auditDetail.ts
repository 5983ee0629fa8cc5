/** Takes the details of a record from bodies and answers, without secrets, and of states only the changed fields. */
import { SECRET_FIELDS } from '../http/secretFields.ts';

type Detail = Readonly<Record<string, unknown>>;

const HIDDEN = '[secret]';

/** Returns a copy in which the values of secret fields are replaced, at any depth. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => {
    return [name, SECRET_FIELDS.has(name) ? HIDDEN : withoutSecrets(member)];
  });
  return Object.fromEntries(members);
}

/** Returns the body of a request or an answer as an object; other bodies are left out. */
export function toDetail(json: string): Detail | null {
  if (!json.startsWith('{')) return null;
  try {
    return withoutSecrets(JSON.parse(json)) as Detail;
  } catch {
    return null;
  }
}

/** Fields that both states have are listed only if they differ; fields of one state are always listed. */
export function changedMembers(before: Detail, after: Detail): { readonly before: Detail; readonly after: Detail } {
  const isSame = (name: string): boolean => {
    return Object.hasOwn(before, name) && Object.hasOwn(after, name) && isEqual(before[name], after[name]);
  };
  const pick = (state: Detail): Detail => Object.fromEntries(Object.entries(state).filter(([name]) => !isSame(name)));
  return { before: pick(before), after: pick(after) };
}

/** Both states come from the same code or from the same JSON, so equal values have equal texts. */
function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
