/** The catalogue of errors: complete, and with the routes that answer each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorsOf } from '../../../../gateway/http/openApiErrors.ts';
import { errorsPage } from '../../../../gateway/web/docsErrorsPage.ts';
import { routeTable } from '../../../../gateway/wiring/routeTable.ts';
import { ERROR_NOTES } from '../../../../shared/api/errorNotes.ts';
import { ERRORS, type ErrorKey } from '../../../../shared/base/errors.ts';
import { anything } from '../../../support/anything.ts';

const page = errorsPage();

test('every code has a chapter with every message and status of it', () => {
  const chapters = new Map(page.split('\n## ').map((text) => [text.split('\n', 1)[0], text]));
  for (const [key, { code, message, status, number }] of Object.entries(ERRORS)) {
    assert.ok(chapters.get(code)?.includes(`**${message}** (HTTP ${status}, number ${number})`), key);
  }
});

test('a chapter names the routes that answer its code, where they are known and few', () => {
  const routes = ['GET /a', 'POST /b'];
  const text = errorsPage((code) =>
    code === 'FAK_NO_FILL' ? routes : code === 'NOT_FOUND' ? Array(13).fill('x') : [],
  );
  assert.match(text, /\n## FAK_NO_FILL\n\nAnswered by `GET \/a`, `POST \/b`\.\n/);
  assert.match(text, /\n## NOT_FOUND\n\nAnswered by 13 routes\.\n/);
  assert.equal(text.match(/Answered by/g)!.length, 2);
});

test('every error that a route can answer is in the catalogue', () => {
  for (const route of routeTable(anything)) {
    for (const key of errorsOf(route)) assert.ok(page.includes(`\n## ${ERRORS[key].code}\n`), `${route.path}: ${key}`);
  }
});

test('an error whose outcome is open, or that passes by itself, says that the same request may be sent again', () => {
  const withRepeat = (...repeats: string[]): string[] => {
    return (Object.keys(ERRORS) as ErrorKey[]).filter((key) => repeats.includes(ERROR_NOTES[key].repeat)).sort();
  };
  assert.deepEqual(withRepeat('finds'), [
    'DUPLICATE_ORDER',
    'IDEMPOTENCY_KEY_IN_PROGRESS',
    'INTERNAL_ERROR',
    'OUTCOME_UNKNOWN',
  ]);
  for (const key of withRepeat('same')) assert.ok([429, 503].includes(ERRORS[key as ErrorKey].status), key);
});

test('a note is made of whole sentences', () => {
  for (const [key, { means, act }] of Object.entries(ERROR_NOTES)) {
    for (const text of [means, act]) assert.match(text, /[.:]$/, key);
  }
});
