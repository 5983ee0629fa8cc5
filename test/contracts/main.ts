/** `npm run contracts`: compiles data/contracts/src and writes the artifacts. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { ARTIFACTS, artifactFile, artifactText, compile } from './compile.ts';

const artifacts = compile();
mkdirSync(ARTIFACTS, { recursive: true });
for (const artifact of artifacts) writeFileSync(artifactFile(artifact.contract), artifactText(artifact));
const sizes = artifacts.map(({ contract, bytecode }) => `${contract} ${(bytecode.length - 2) / 2} bytes`);
process.stdout.write(`data/contracts/artifacts: ${sizes.join(', ')}\n`);
