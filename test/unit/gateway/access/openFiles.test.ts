import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allowedOpenFiles, connectionsThatFit, ownFiles } from '../../../../gateway/access/openFiles.ts';
import { StartError } from '../../../../gateway/base/startError.ts';

const SMALLEST = { shards: 1, verifyThreads: 0, gateways: 1, hasAdminPort: false };

describe('open files (RULES.md 6.9)', () => {
  test('leave room for the connections that were asked for, or for those that fit beside the own files', () => {
    assert.equal(connectionsThatFit(10_000, 65_536, 200), 10_000);
    assert.equal(connectionsThatFit(10_000, 10_200, 200), 10_000);
    assert.equal(connectionsThatFit(10_000, 1024, 200), 824);
    assert.equal(connectionsThatFit(10_000, 201, 200), 1);
    assert.equal(connectionsThatFit(10_000, null, 200), 10_000, 'where the system does not say');
  });

  test('end the start where the own files do not fit', () => {
    assert.throws(() => connectionsThatFit(1, 200, 200), StartError);
  });

  test('of the exchange itself are more with every thread, and with the connections of administrators', () => {
    const least = ownFiles(SMALLEST);
    for (const more of [{ shards: 2 }, { verifyThreads: 1 }, { gateways: 2 }, { hasAdminPort: true }]) {
      assert.ok(ownFiles({ ...SMALLEST, ...more }) > least, JSON.stringify(more));
    }
  });

  test('are as many as Linux allows this process', { skip: process.platform !== 'linux' }, () => {
    const allowed = allowedOpenFiles();
    assert.ok(allowed !== null && allowed > 0);
  });
});
