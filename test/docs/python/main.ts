/** The files of the Python client that follow from declarations, with their texts. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openApiText } from '../../../gateway/http/openapiRoutes.ts';
import { routeTable } from '../../../gateway/wiring/routeTable.ts';
import { anything } from '../../support/anything.ts';
import { ANSWERS } from './answers.ts';
import { errorCodes } from './errors.ts';
import { modelFiles } from './models.ts';
import { answersOf, operationFiles } from './operations.ts';
import { signedFields } from './signedFields.ts';

const PACKAGE = fileURLToPath(new URL('../../../shared/client/python/open_prediction_exchange/', import.meta.url));

/** Contents by path. */
export async function pythonFiles(): Promise<Map<string, string>> {
  const document = withAnswers(JSON.parse(String(await openApiText(routeTable(anything))())));
  const files = new Map([
    [`${PACKAGE}error_codes.py`, errorCodes()],
    [`${PACKAGE}signed_fields.py`, signedFields()],
  ]);
  for (const [name, text] of operationFiles(document)) files.set(`${PACKAGE}${name}`, text);
  for (const [name, text] of modelFiles(document, { ...ANSWERS, ...answersOf(document) }))
    files.set(`${PACKAGE}models/${name}`, text);
  return files;
}

type WithResponses = { readonly responses: Record<string, { readonly $ref?: string }> };

/** Operations that share an answer have it as if it was theirs alone. */
// biome-ignore lint/suspicious/noExplicitAny: the document is read as it is
function withAnswers(document: any): any {
  const { responses } = document.components;
  const operations = Object.values<Record<string, WithResponses>>(document.paths).flatMap((path) =>
    Object.values(path),
  );
  for (const operation of operations) {
    for (const [status, { $ref }] of Object.entries(operation.responses))
      if (status.startsWith('2') && $ref !== undefined)
        operation.responses[status] = responses[$ref.split('/').at(-1)!];
  }
  return document;
}

/** The files of the models that are there. */
export function modelFilesThere(): string[] {
  return readdirSync(`${PACKAGE}models`)
    .filter((name) => name.endsWith('.py'))
    .map((name) => `${PACKAGE}models/${name}`);
}
