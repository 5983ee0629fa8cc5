/** The administrator's routes for a whole catalogue: import and export (RULES.md 9.40 to 9.44). */
import { CATALOGUE_LINE, IMPORT_REPORT, MAX_IMPORT_BYTES, MAX_IMPORT_LINES } from '../../shared/api/catalogue.ts';
import { NDJSON } from '../../shared/api/mediaTypes.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { noteAnswer } from '../http/audited.ts';
import { ok, okInRows, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Views } from '../shardlink/views.ts';
import type { Catalog } from './catalog.ts';
import { exportedLines } from './catalogueExport.ts';
import type { CatalogueImport } from './catalogueImport.ts';
import { hasTooManyLines } from './catalogueLines.ts';

type CatalogueFileDeps = {
  readonly catalog: Catalog;
  readonly views: Views;
  readonly catalogueImport: CatalogueImport;
};

const IMPORT_CATALOGUE = {
  method: 'POST',
  path: '/admin/catalogue/import',
  id: 'adminImportCatalogue',
  summary: 'Makes and changes events and markets from lines of JSON, each with a key; what is there already stays.',
  access: 'catalogue',
  storing: true,
  maxBodyBytes: MAX_IMPORT_BYTES,
  bodyType: NDJSON,
  documentedBody: CATALOGUE_LINE,
  answers: { 200: IMPORT_REPORT },
  errors: ['VALIDATION_ERROR'],
} as const satisfies RouteSpec;

const EXPORT_CATALOGUE = {
  method: 'GET',
  path: '/admin/catalogue/export',
  id: 'adminExportCatalogue',
  summary: 'All events and markets as lines of JSON that an import reads.',
  access: 'viewer',
  contentType: NDJSON,
  answers: { 200: CATALOGUE_LINE },
} as const satisfies RouteSpec;

export function catalogueFileRoutes({ catalog, views, catalogueImport }: CatalogueFileDeps): Route[] {
  return [
    route(IMPORT_CATALOGUE, (call) => importCatalogue(call, catalogueImport)),
    route(EXPORT_CATALOGUE, (call) => okInRows(call, exportedLines(catalog, views.markets), NDJSON)),
  ];
}

async function importCatalogue(call: CallOf<typeof IMPORT_CATALOGUE>, catalogueImport: CatalogueImport): Promise<void> {
  const { bodyBytes } = call;
  if (hasTooManyLines(bodyBytes)) {
    const details = { field: 'body', rule: 'maxLines', limit: MAX_IMPORT_LINES };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: `more than ${MAX_IMPORT_LINES} lines`, details });
    return;
  }
  // Computed on another thread: hashing a megabyte would block this one.
  const hash = await crypto.subtle.digest('SHA-256', bodyBytes);
  const report = await catalogueImport.run(bodyBytes, call.principal);
  const { lines, ...counts } = report;
  noteAnswer(call, { ...counts, bytes: bodyBytes.length, sha256: Buffer.from(hash).toString('hex') });
  ok(call, report);
}
