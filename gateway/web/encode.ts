/** Encodes files as they are sent: the thread that makes a file makes every encoding once. */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { PageFile } from './pageFiles.ts';

/** For files whose name contains the hash of their content. */
export const KEPT = 'public, max-age=31536000, immutable';

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

export function fileOf(path: string, contentType: string, cacheControl: string, text: string, policy = ''): PageFile {
  const plain = Buffer.from(text);
  const brotli = brotliCompressSync(plain, BROTLI);
  return { path, contentType, cacheControl, policy, plain, gzip: gzipSync(plain), brotli };
}
