/** Compiles the verification kernel from its sources (npm run kernel). */
import { writeFileSync } from 'node:fs';
import { compileKernel, HASHES, hashesOf, WASM } from './build.ts';

const wasm = await compileKernel();
writeFileSync(WASM, wasm);
writeFileSync(HASHES, hashesOf(wasm));
