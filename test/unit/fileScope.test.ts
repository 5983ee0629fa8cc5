/** The scope of a file: things started in it end with the file, so tests cannot use it. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileScope } from '../support/fileScope.ts';
import { startServer } from '../support/server.ts';

const REFUSED = /fileScope is for the top of a file/;
const use = (): void => fileScope.after(() => {});

/** As a helper calls it that waits for something first, and for several things at once. */
async function useLater(): Promise<void> {
  await sleep(1);
  await Promise.all([Promise.resolve().then(async () => use())]);
}

describe('the scope of a file', () => {
  let hookError: unknown;
  before(async () => {
    hookError = await useLater().catch((error: unknown) => error);
  });

  test('is refused in a hook', () => {
    assert.match(String(hookError), REFUSED);
  });

  test('is refused in a test, before anything is started', async () => {
    assert.throws(use, REFUSED);
    await assert.rejects(startServer(fileScope), REFUSED);
  });

  test('is refused in a test that has waited, and in a part of a test', async (t) => {
    await assert.rejects(useLater(), REFUSED);
    await t.test('a part', () => assert.rejects(useLater(), REFUSED));
  });
});

// At the top of a file it is not, even after an await.
use();
await useLater();
