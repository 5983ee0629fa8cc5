/** Reads a file of a spool: its pieces as they are, the text in them, and its rows. */
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { LAST_BLOCK } from './csvFile.ts';

type SpoolVisitor = {
  readonly piece?: (bytes: Uint8Array) => void;
  readonly text?: (bytes: Uint8Array) => void;
  readonly row: (values: readonly string[]) => void;
};

export async function readSpool(path: string, { piece, text, row }: SpoolVisitor): Promise<void> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for await (const bytes of createReadStream(path)) {
      piece?.(bytes);
      yield bytes;
    }
    yield LAST_BLOCK;
  }
  let rest = '';
  for await (const bytes of Readable.from(pieces()).pipe(createInflateRaw())) {
    text?.(bytes);
    const lines = (rest + bytes.toString('latin1')).split('\n');
    rest = lines.pop()!;
    for (const line of lines) row(line.split(','));
  }
}
