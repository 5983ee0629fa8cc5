/** Compiles the verification kernel (engine/verify/kernel): the same sources give the same bytes. */
import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../engine/verify/kernel/', import.meta.url);
const SOURCES = new URL('wasm/', FOLDER);
export const WASM = new URL('kernel.wasm', FOLDER);
/** The hashes of the sources that kernel.wasm was made of, and of itself. */
export const HASHES = new URL('kernel.sha256', FOLDER);
/**
 * Assertions are off, as there are none; memory is imported, so that its size is chosen at run time. The sources end in
 * .as, because they are no TypeScript; the compiler asks for .ts.
 */
const OPTIONS = [
  ...['kernel.ts', '--outFile', 'kernel.wasm', '--runtime', 'stub', '-O3', '--converge', '--noAssert'],
  ...['--importMemory', '--noExportMemory', '--zeroFilledMemory', '--memoryBase', '1024', '--enable', 'simd'],
];

export async function compileKernel(): Promise<Uint8Array> {
  let wasm: Uint8Array | undefined;
  // It takes a second to load, and those who compare hashes do not need it.
  const { default: asc } = await import('assemblyscript/asc');
  const { error, stderr } = await asc.main(OPTIONS, {
    readFile: (name) => (/^\w+\.ts$/.test(name) ? read(name.replace(/ts$/, 'as')) : null),
    writeFile: (_, contents) => {
      wasm = contents as Uint8Array;
    },
    listFiles: () => [],
  });
  if (error !== null || wasm === undefined) throw new Error(`the kernel does not compile\n${stderr}`, { cause: error });
  return wasm;
}

/** As the file has them: a change of either without the other is seen without compiling. */
export function hashesOf(wasm: Uint8Array): string {
  return `${hashOfSources()} sources\n${hash('sha256', wasm)} kernel.wasm\n`;
}

/** In the order of their names, each with its name. */
function hashOfSources(): string {
  const names = globSync('*.as', { cwd: SOURCES }).sort();
  return hash('sha256', names.map((name) => `${name}\n${read(name)}`).join('\n'));
}

function read(name: string): string | null {
  try {
    return readFileSync(new URL(name, SOURCES), 'utf8');
  } catch {
    return null;
  }
}
