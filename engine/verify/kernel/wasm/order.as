/**
 * The EIP-712 digest of an order (shared/crypto/eip712.ts), from the words of a PLACE or REPLACE record (shared/wire/
 * commands.ts), of which those from the salt on stand at RECORD: 13 words of 32 bytes are hashed, then that hash with
 * the separator of the domain.
 */
import { keccak } from './keccak';

export const RECORD = memory.data(224, 16);
/** Offsets in RECORD, in bytes: orderLayout.test.ts compares them with the layout. */
const SALT: usize = 0;
const TOKEN_ID: usize = 32;
const MAKER: usize = 64;
const SIGNER: usize = 84;
const KIND: usize = 172;
const MAKER_AMOUNT: usize = 176;
const TAKER_AMOUNT: usize = 184;
const EXPIRATION: usize = 192;
const NONCE: usize = 200;
const FEE: usize = 208;
const MIN_TAKER_NET: usize = 216;

const WORD: usize = 32;
const ADDRESS: usize = 20;
/** The type hash in the first word; the fifth, the taker, stays zero. */
export const STRUCT = memory.data(416, 16);
/** 0x19 0x01, the separator of the domain, the hash of the struct. */
const FINAL = memory.data(80, 16);
export const SEPARATOR: usize = FINAL + 2;
const STRUCT_HASH: usize = FINAL + 34;
const FINAL_LENGTH: usize = 66;

export function hashOrder(out: usize): void {
  memory.copy(STRUCT + WORD, RECORD + SALT, WORD);
  memory.copy(STRUCT + 3 * WORD - ADDRESS, RECORD + MAKER, ADDRESS);
  memory.copy(STRUCT + 4 * WORD - ADDRESS, RECORD + SIGNER, ADDRESS);
  memory.copy(STRUCT + 5 * WORD, RECORD + TOKEN_ID, WORD);
  putNumber(6, load<u64>(RECORD + MAKER_AMOUNT));
  putNumber(7, load<u64>(RECORD + TAKER_AMOUNT));
  putNumber(8, load<u64>(RECORD + EXPIRATION));
  putNumber(9, load<u64>(RECORD + NONCE));
  putNumber(10, load<u32>(RECORD + FEE));
  putNumber(11, load<u64>(RECORD + MIN_TAKER_NET));
  putNumber(12, load<u8>(RECORD + KIND));
  keccak(STRUCT_HASH, STRUCT, 13 * WORD);
  store<u8>(FINAL, 0x19);
  store<u8>(FINAL, 0x01, 1);
  keccak(out, FINAL, FINAL_LENGTH);
}

function putNumber(word: usize, value: u64): void {
  store<u64>(STRUCT + (word + 1) * WORD - 8, bswap(value));
}
