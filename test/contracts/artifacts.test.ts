/** The committed artifacts of data/contracts match its sources. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { artifactFile, CONTRACTS, REVIEW_FILE, readArtifact, sourceFiles, sourceHash } from './compile.ts';

test('every artifact was compiled from the sources, the libraries and the settings that are here', () => {
  const hash = sourceHash();
  for (const contract of CONTRACTS) {
    const artifact = readArtifact(contract);
    assert.equal(artifact.sourceHash, hash, `${artifactFile(contract)} is older than its source: npm run contracts`);
    const bytecodeHash = createHash('sha256').update(artifact.bytecode.slice(2)).digest('hex');
    assert.equal(artifact.bytecodeHash, bytecodeHash, `${artifactFile(contract)} was edited: npm run contracts`);
  }
});

test('the security review is of these sources, and says something about every item of the SWC list', () => {
  const review = readFileSync(REVIEW_FILE, 'utf8');
  const hash = sourceHash().slice(0, 16);
  assert.ok(
    review.includes(`\`${hash}\``),
    `the sources are ${hash} now: review what has changed, then write it there`,
  );
  const [, list] = review.split(/^## The SWC list$/m);
  const items = list
    .slice(0, list.indexOf('\n## '))
    .match(/^\| .*? \|/gm)!
    .join(' ');
  for (let item = 100; item <= 136; item++) assert.match(items, new RegExp(`\\b${item}\\b`), `SWC-${item}`);
});

test('the hash of the sources depends on every one of them', () => {
  const files = sourceFiles();
  assert.ok(Object.keys(files).some((name) => name.startsWith('@openzeppelin/')));
  for (const name of Object.keys(files)) {
    const changed = { ...files, [name]: { content: `${files[name].content} ` } };
    assert.notEqual(sourceHash(changed), sourceHash(files), name);
  }
});

test('every source has the licence of the project, and ours are plain text of at most 120 columns', () => {
  for (const [name, { content }] of Object.entries(sourceFiles())) {
    assert.match(content, /^\/\/ SPDX-License-Identifier: MIT$/m, name);
    if (!name.startsWith('@')) assert.match(content, /^(?:[ -~]{0,120}\n)*$/, name);
  }
});
