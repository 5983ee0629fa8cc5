/** The parts of a snapshot in memory: a class reads back in the same order what it has written. */
import type { SnapshotIo } from '../../engine/base/snapshotIo.ts';
import { FILE_LAYOUTS } from '../../shared/base/formats.ts';

export class MemorySnapshot {
  readonly #parts: unknown[] = [];

  readonly writer = ioOf((part) => {
    this.#parts.push(structuredClone(part));
    return part;
  });

  readonly reader = ioOf(() => this.#parts.shift());

  get isReadWhole(): boolean {
    return this.#parts.length === 0;
  }
}

function ioOf(pass: (part: unknown) => unknown): SnapshotIo {
  const io = { number: pass, u8: pass, u16: pass, u32: pass, i32: pass, f64: pass };
  return { version: FILE_LAYOUTS.snapshot, ...io } as SnapshotIo;
}
