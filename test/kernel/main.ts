/** Compiles the verification kernel from its sources (npm run kernel). */
import { writeFileSync } from 'node:fs';
import { compileKernel, hashOfSources, SOURCES_HASH, WASM } from './build.ts';

writeFileSync(WASM, await compileKernel());
writeFileSync(SOURCES_HASH, `${hashOfSources()}\n`);
