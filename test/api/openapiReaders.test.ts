/** /openapi.json as a linter reads it that many teams have in their builds: its recommended rules and its examples. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedServer } from '../support/server.ts';

// Imported by a name that the compiler does not follow: trees that were installed before it was a dependency still pass
// their checks.
const REDOCLY: string = '@redocly/openapi-core';
const RULES = {
  'no-invalid-media-type-examples': 'error',
  'no-unused-components': 'error',
  'operation-operationId-unique': 'error',
  'parameter-description': 'error',
  'tag-description': 'error',
  // OpenAPI says that the fixed path comes first, as the router has it.
  'no-ambiguous-paths': 'off',
  // One route sends a browser elsewhere, and another opens a WebSocket.
  'operation-2xx-response': 'off',
};

const server = await sharedServer();

test('Redocly finds nothing wrong with the document, and every parameter is described', async () => {
  const source = JSON.stringify((await server.request('GET', '/openapi.json')).body);
  const { createConfig, lintFromString } = await import(REDOCLY);
  const config = await createConfig({ extends: ['recommended'], rules: RULES });
  const problems: { ruleId: string; message: string; location: { pointer?: string }[] }[] = await lintFromString({
    source,
    config,
    absoluteRef: 'openapi.json',
  });
  const shown = problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
  assert.deepEqual(shown, []);
});
