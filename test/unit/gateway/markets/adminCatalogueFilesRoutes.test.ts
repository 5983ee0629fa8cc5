/** POST /admin/catalogue/import (RULES.md 9.40): the bound of its lines, and its record in the audit log. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { catalogueFileRoutes } from '../../../../gateway/markets/adminCatalogueFilesRoutes.ts';
import { MAX_IMPORT_LINES } from '../../../../shared/api/catalogue.ts';
import { TestCall } from '../../../support/calls.ts';

const REPORT = { created: 2, updated: 0, unchanged: 1, failed: 0, lines: [] };

test('a body of too many lines is refused before any is carried out; another is imported as it came', async () => {
  const imported: Buffer[] = [];
  const catalogueImport = {
    run: async (body: Buffer) => {
      imported.push(body);
      return REPORT;
    },
  };
  const routes = catalogueFileRoutes({ catalogueImport } as never);
  const route = routes.find(({ method }) => method === 'POST')!;
  const send = async (body: string) => {
    const sent = new TestCall({ method: 'POST', path: route.path });
    sent.call.bodyBytes = Buffer.from(body);
    await route.handler(sent.call);
    return sent;
  };
  const refused = await send('{}\n'.repeat(MAX_IMPORT_LINES + 1));
  assert.deepEqual([refused.status, refused.json.code], [400, 'VALIDATION_ERROR']);
  assert.deepEqual(refused.json.details, { field: 'body', rule: 'maxLines', limit: MAX_IMPORT_LINES });
  assert.deepEqual(imported, []);

  const body = '{"key":"a"}\n{"key":"b"}\n';
  const accepted = await send(body);
  assert.deepEqual([accepted.status, accepted.json], [200, REPORT]);
  assert.deepEqual(imported.map(String), [body]);
  const { lines: _, ...counts } = REPORT;
  const sha256 = createHash('sha256').update(body).digest('hex');
  assert.deepEqual(accepted.call.audited!.answer, { ...counts, bytes: body.length, sha256 });
});
