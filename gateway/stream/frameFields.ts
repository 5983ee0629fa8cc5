/** Fields that several messages of the stream have, as JSON Schema. */
import type { JsonSchema } from '../../shared/api/schema.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';

export type FrameSpec = { readonly summary: string; readonly schema: JsonSchema };
export type Properties = Readonly<Record<string, JsonSchema>>;

export function object(properties: Properties, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', additionalProperties: false, required, properties };
}

export const UUID: JsonSchema = { type: 'string', format: 'uuid' };
export const BOOLEAN: JsonSchema = { type: 'boolean' };
export const SEQUENCE: JsonSchema = { type: 'integer', minimum: 0, maximum: MAX_SAFE };
export const TIME_MS: JsonSchema = { type: 'integer', minimum: 0, description: 'Unix time in milliseconds' };
export const OUTCOME_INDEX: JsonSchema = { type: 'integer', enum: [0, 1] };
export const MARKETS: JsonSchema = { type: 'array', items: UUID };
