/** The forms in which an operator may write a master key. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseMasterKey, readMasterKey } from '../../../../shared/crypto/masterKey.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => 7 * index));

test('a master key is 64 hexadecimal digits or the base64 of 32 bytes, in either alphabet', () => {
  for (const form of ['hex', 'base64', 'base64url'] as const) assert.deepEqual(parseMasterKey(KEY.toString(form)), KEY);
  assert.deepEqual(parseMasterKey(KEY.toString('hex').toUpperCase()), KEY);
});

test('anything else is none: what Node would skip in base64 is a slip of the hand', () => {
  const base64 = KEY.toString('base64');
  for (const text of [
    '',
    ' ',
    KEY.toString('hex').slice(1),
    `${KEY.toString('hex')}00`,
    KEY.subarray(1).toString('base64'),
    `${base64.slice(0, 20)} ${base64.slice(20)}`,
    `${base64.slice(0, 20)}!${base64.slice(20)}`,
    `"${base64}"`,
    `${base64}===`,
  ]) {
    assert.equal(parseMasterKey(text), null, text);
  }
});

test('a file may have white space around its key', () => {
  const path = join(temporaryDirectory(), 'master.key');
  writeFileSync(path, `  ${KEY.toString('hex')}\n\n`);
  assert.deepEqual(readMasterKey(path), KEY);
  assert.throws(() => readMasterKey(`${path}.none`), /ENOENT/);
});
