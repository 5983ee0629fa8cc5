/** Tables of the CRCs here: reflected polynomials of 32 bits, as zip (CRC-32) and iSCSI (CRC-32C) use them. */

/**
 * `slices` tables of 256 elements, one after the other: element 256 * k + b is what byte b adds to the remainder when k
 * more bytes follow it. The elements are signed: an unsigned value of 2^31 and more would leave the small integers on
 * every load.
 */
export function crcTable(polynomial: number, slices = 1): Int32Array {
  const table = new Int32Array(256 * slices);
  for (let byte = 0; byte < 256; byte++) {
    let remainder = byte;
    for (let bit = 0; bit < 8; bit++) remainder = (remainder >>> 1) ^ (remainder & 1 ? polynomial : 0);
    table[byte] = remainder;
  }
  for (let at = 256; at < table.length; at++) {
    const shorter = table[at - 256];
    table[at] = table[shorter & 0xff] ^ (shorter >>> 8);
  }
  return table;
}
