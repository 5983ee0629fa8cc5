/** The memory of a thread as V8 counts it, in bytes. */
import type { HeapInfo } from 'node:v8';

/**
 * The heap as taken from the system, the used part of it, the memory that objects hold outside of it (buffers,
 * WebAssembly), and the memory that V8 itself needs. Native objects of a library, such as SQLite's statements, are in
 * none of these.
 */
export const MEMORY_KINDS = ['heap', 'used', 'external', 'v8'] as const;

export type ThreadMemory = Readonly<Record<(typeof MEMORY_KINDS)[number], number>>;

export function memoryOf(info: HeapInfo): ThreadMemory {
  return {
    heap: info.total_heap_size,
    used: info.used_heap_size,
    external: info.external_memory,
    v8: info.malloced_memory,
  };
}
