/** A full compilation gives the committed artifacts, byte for byte. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { artifactFile, artifactText, compile } from './compile.ts';

test('compiling the contracts again gives the committed artifacts', () => {
  for (const artifact of compile()) {
    const file = artifactFile(artifact.contract);
    assert.equal(readFileSync(file, 'utf8'), artifactText(artifact), `${file}: npm run contracts`);
  }
});
