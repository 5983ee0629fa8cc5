/** CRC-32 as zip, gzip and node:zlib have it, without Node: the client of the stream runs in browsers as well. */
const P = 0xedb88320;

/** Of one byte each, without the inversions before and after that the finished CRC has. */
export const CRC32_TABLE: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ P : crc >>> 1;
  return crc >>> 0;
});

/** Of an ASCII text. */
export function crc32OfText(text: string): number {
  let crc = ~0;
  for (let at = 0; at < text.length; at++) {
    crc = (crc >>> 8) ^ CRC32_TABLE[(crc ^ text.charCodeAt(at)) & 0xff]!;
  }
  return ~crc >>> 0;
}
