/** Compiles the verification kernels from their sources (npm run kernel). */
import { writeFileSync } from 'node:fs';
import { compileKernel, HASHES, hashesOf, KERNELS, kernelUrl } from './build.ts';

const kernels = [];
for (const kernel of KERNELS) {
  const wasm = await compileKernel(kernel);
  writeFileSync(kernelUrl(kernel), wasm);
  kernels.push(wasm);
}
writeFileSync(HASHES, hashesOf(kernels));
