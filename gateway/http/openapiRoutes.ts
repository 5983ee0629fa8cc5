/** The document of the HTTP interface, made from the table of routes when it is first requested. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DOCUMENT } from '../../shared/api/platform.ts';
import { namedSchemas } from './namedSchemas.ts';
import { openApiPieces } from './openapi.ts';
import { okKept } from './pieces.ts';
import { type Route, route } from './route.ts';
import type { FullSpec, RouteSpec } from './spec.ts';

const SHOW_OPENAPI = {
  method: 'GET',
  path: '/openapi.json',
  id: 'getOpenApi',
  summary: 'This document.',
  access: 'public',
  probe: true,
  answers: { 200: DOCUMENT },
} as const satisfies RouteSpec;

/** @param text of the document, sent in pieces: for a client that reads slowly no megabyte waits */
export function openApiRoutes(text: () => Promise<Buffer>): Route[] {
  return [route(SHOW_OPENAPI, async (call) => okKept(call, await text()))];
}

/**
 * The text of the document, made when it is first needed, in turns of the event loop.
 * @param routes the whole table, with the routes that are added to it later
 */
export function openApiText(routes: readonly FullSpec[]): () => Promise<Buffer> {
  let text: Promise<Buffer> | undefined;
  return () => {
    text ??= make(routes.filter(({ isFile }) => !isFile));
    return text;
  };
}

async function make(routes: readonly FullSpec[]): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const piece of openApiPieces(routes, namedSchemas())) {
    pieces.push(Buffer.from(piece));
    await nextTurn();
  }
  return Buffer.concat(pieces);
}
