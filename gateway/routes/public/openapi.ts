/** The document of the HTTP interface, made from the table of routes when it is first requested. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as accounts from '../../../shared/api/accounts.ts';
import * as events from '../../../shared/api/events.ts';
import * as history from '../../../shared/api/history.ts';
import * as markets from '../../../shared/api/markets.ts';
import * as orders from '../../../shared/api/orders.ts';
import * as platform from '../../../shared/api/platform.ts';
import * as quotes from '../../../shared/api/quotes.ts';
import type { JsonSchema } from '../../../shared/api/schema.ts';
import { type NamedSchemas, openApiPieces } from '../../http/openapi.ts';
import { okKept } from '../../http/pieces.ts';
import { type Route, route } from '../../http/route.ts';
import type { RouteSpec } from '../../http/spec.ts';

const SHOW_OPENAPI = {
  method: 'GET',
  path: '/openapi.json',
  summary: 'This document.',
  access: 'public',
  limit: 'unlisted',
  probe: true,
  answers: { 200: platform.DOCUMENT },
} as const satisfies RouteSpec;

/** @param text of the document, sent in pieces: for a client that reads slowly no megabyte waits */
export function openApiRoutes(text: () => Promise<Buffer>): Route[] {
  return [route(SHOW_OPENAPI, async (call) => okKept(call, await text()))];
}

/**
 * The text of the document, made when it is first needed, in turns of the event loop.
 * @param routes the whole table, with the routes that are added to it later
 */
export function openApiText(routes: readonly RouteSpec[]): () => Promise<Buffer> {
  let text: Promise<Buffer> | undefined;
  return () => {
    text ??= make(routes.filter(({ isFile }) => !isFile));
    return text;
  };
}

async function make(routes: readonly RouteSpec[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const piece of openApiPieces(routes, namedSchemas())) {
    pieces.push(Buffer.from(piece));
    await nextTurn();
  }
  return Buffer.concat(pieces);
}

/** The exported object schemas: `PLACEMENT_RESPONSE` is "PlacementResponse". */
function namedSchemas(): NamedSchemas {
  const names = new Map<JsonSchema, string>();
  const exported: Readonly<Record<string, unknown>> = {
    ...accounts,
    ...events,
    ...history,
    ...markets,
    ...orders,
    ...platform,
    ...quotes,
  };
  for (const [name, value] of Object.entries(exported)) {
    if (isObjectSchema(value)) names.set(value, toPascalCase(name));
  }
  return names;
}

function isObjectSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && 'properties' in value;
}

function toPascalCase(name: string): string {
  return name.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
