/**
 * Instances of the kernel. Each thread compiles the kernel once; each instance has its own memory. TypeScript's library
 * for Node does not declare WebAssembly, so the needed part is declared here.
 */
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

type WebAssembly = {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

/** A place in the kernel's memory. */
type Address = { readonly value: number };

export const VERDICT = { UNDECIDED: 0, ACCEPTED: 1, REFUSED: 2 } as const;
export type Verdict = (typeof VERDICT)[keyof typeof VERDICT];

export type KernelExports = {
  readonly DIGEST: Address;
  readonly SIGNATURE: Address;
  readonly SIGNER: Address;
  readonly RECORD: Address;
  readonly RANDOM: Address;
  readonly SEPARATOR: Address;
  readonly TYPE_HASH: Address;
  canRun(): boolean | number;
  freeMemory(): number;
  bytesOfSigners(count: number): number;
  begin(signersAt: number, signers: number, secret: number, keepsTables: boolean): void;
  verify(): number;
  isKnown(): number;
  placeDigest(): void;
  beginBatch(): void;
  add(): void;
  stepBatch(random: number): number;
  verdictOf(index: number): Verdict;
};

export const PAGE_BYTES = 65_536;
/** Pages for everything except the signers; the constructor of a kernel checks this number. */
export const OWN_PAGES = 18;

/**
 * V8 has a second set of compiler phases for WebAssembly: the kernel is a tenth to a seventh faster with it
 * (README.md). V8 reads the flag when it compiles, for all threads of the process. Later versions always use it, and
 * have no flag.
 */
const HAS_CHOICE = process.versions.v8.startsWith('12.');
if (HAS_CHOICE) setFlagsFromString('--turboshaft-wasm');

const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssembly };

/** The fused kernel is faster, if V8 and the processor can run it (README.md). */
const VARIANTS = { fused: 'kernelFused.wasm', plain: 'kernel.wasm' } as const;
export type Variant = keyof typeof VARIANTS;

const compiled = new Map<Variant, object>();
/**
 * The kernel used here, and the reason why the fused kernel cannot be loaded: its file is missing or invalid. A
 * processor that cannot run the fused kernel is not reported as a problem.
 */
export const { variant: BEST_VARIANT, problem: FUSED_PROBLEM } = best();

export function instantiate(
  pages: number,
  variant: Variant = BEST_VARIANT,
): { readonly buffer: ArrayBuffer; readonly exports: KernelExports } {
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const { exports } = new WebAssembly.Instance(compile(variant), { env: { memory } });
  // The exports are copied into an ordinary object: a namespace of exports has its own shape, so code compiled by V8
  // for one instance would fit no other.
  return { buffer: memory.buffer, exports: { ...(exports as KernelExports) } };
}

function compile(variant: Variant): object {
  const known = compiled.get(variant);
  if (known !== undefined) return known;
  const module = new WebAssembly.Module(readFileSync(new URL(VARIANTS[variant], import.meta.url)));
  compiled.set(variant, module);
  return module;
}

/** On a processor without the fused instruction V8 rounds twice; `canRun` notices this. */
function best(): { readonly variant: Variant; readonly problem: string | null } {
  try {
    return { variant: instantiate(OWN_PAGES, 'fused').exports.canRun() ? 'fused' : 'plain', problem: null };
  } catch (error) {
    return { variant: 'plain', problem: String(error) };
  }
}
