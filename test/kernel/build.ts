/**
 * Compiles the verification kernels (engine/verify/kernel): the same sources give the same bytes. Where there are two
 * sources x.as and xFused.as, the fused kernel has the second in place of the first.
 */
import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../engine/verify/kernel/', import.meta.url);
const SOURCES = new URL('wasm/', FOLDER);
const FUSED = 'Fused.as';
/** The files, and the compiler's options for each. */
export const KERNELS = [
  { name: 'kernel.wasm', isFused: false },
  { name: 'kernelFused.wasm', isFused: true },
] as const;
type KernelFile = (typeof KERNELS)[number];
/** The hashes of the sources that the kernels were made of, and of themselves. */
export const HASHES = new URL('kernel.sha256', FOLDER);
/**
 * Assertions are off, because there are none; memory is imported, so that its size is chosen at run time. The sources
 * end in .as, because they are not TypeScript; the compiler asks for .ts.
 */
const OPTIONS = [
  ...['kernel.ts', '--outFile', 'kernel.wasm', '--runtime', 'stub', '-O3', '--converge', '--noAssert'],
  ...['--importMemory', '--noExportMemory', '--zeroFilledMemory', '--memoryBase', '1024', '--enable', 'simd'],
];

export function kernelUrl({ name }: KernelFile): URL {
  return new URL(name, FOLDER);
}

export async function compileKernel({ isFused }: KernelFile): Promise<Uint8Array> {
  let wasm: Uint8Array | undefined;
  // It takes a second to load, and comparing hashes does not need it.
  const { default: asc } = await import('assemblyscript/asc');
  const { error, stderr } = await asc.main([...OPTIONS, ...(isFused ? ['--enable', 'relaxed-simd'] : [])], {
    readFile: (name) => (/^\w+\.ts$/.test(name) ? readSource(name, isFused) : null),
    writeFile: (_, contents) => {
      wasm = contents as Uint8Array;
    },
    listFiles: () => [],
  });
  if (error !== null || wasm === undefined) throw new Error(`the kernel does not compile\n${stderr}`, { cause: error });
  return wasm;
}

/**
 * The hashes in the files, in the order of KERNELS: a change of one file without the others is noticed without
 * compiling.
 */
export function hashesOf(kernels: readonly Uint8Array[]): string {
  const lines = kernels.map((wasm, index) => `${hash('sha256', wasm)} ${KERNELS[index].name}\n`);
  return [`${hashOfSources()} sources\n`, ...lines].join('');
}

/** In the order of their names, each with its name. */
function hashOfSources(): string {
  const names = globSync('*.as', { cwd: SOURCES }).sort();
  return hash('sha256', names.map((name) => `${name}\n${read(name)}`).join('\n'));
}

function readSource(name: string, isFused: boolean): string | null {
  const fused = isFused ? read(name.replace(/\.ts$/, FUSED)) : null;
  return fused ?? read(name.replace(/ts$/, 'as'));
}

function read(name: string): string | null {
  try {
    return readFileSync(new URL(name, SOURCES), 'utf8');
  } catch {
    return null;
  }
}
