/**
 * Keccak-256 as Ethereum uses it: rate 136, the padding 0x01 … 0x80 of the first submission. One message at a time.
 */
const RATE: usize = 136;
/** 25 lanes of 64 bits, lane x + 5 y. */
const STATE = memory.data(200, 16);
const ROUNDS = memory.data<u64>([
  0x1, 0x8082, 0x800000000000808a, 0x8000000080008000,
  0x808b, 0x80000001, 0x8000000080008081, 0x8000000000008009,
  0x8a, 0x88, 0x80008009, 0x8000000a,
  0x8000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
  0x8000000000008002, 0x8000000000000080, 0x800a, 0x800000008000000a,
  0x8000000080008081, 0x8000000000008080, 0x80000001, 0x8000000080008008,
]);

@inline
function lane(index: usize): u64 {
  return load<u64>(STATE + 8 * index);
}

@inline
function setLane(index: usize, value: u64): void {
  store<u64>(STATE + 8 * index, value);
}

/** The permutation of 24 rounds: theta, rho and pi, chi, iota. */
function permute(): void {
  let a0 = lane(0), a1 = lane(1), a2 = lane(2), a3 = lane(3), a4 = lane(4);
  let a5 = lane(5), a6 = lane(6), a7 = lane(7), a8 = lane(8), a9 = lane(9);
  let a10 = lane(10), a11 = lane(11), a12 = lane(12), a13 = lane(13), a14 = lane(14);
  let a15 = lane(15), a16 = lane(16), a17 = lane(17), a18 = lane(18), a19 = lane(19);
  let a20 = lane(20), a21 = lane(21), a22 = lane(22), a23 = lane(23), a24 = lane(24);
  for (let round: usize = 0; round < 24; round++) {
    const c0 = a0 ^ a5 ^ a10 ^ a15 ^ a20;
    const c1 = a1 ^ a6 ^ a11 ^ a16 ^ a21;
    const c2 = a2 ^ a7 ^ a12 ^ a17 ^ a22;
    const c3 = a3 ^ a8 ^ a13 ^ a18 ^ a23;
    const c4 = a4 ^ a9 ^ a14 ^ a19 ^ a24;
    const d0 = c4 ^ rotl(c1, 1);
    const d1 = c0 ^ rotl(c2, 1);
    const d2 = c1 ^ rotl(c3, 1);
    const d3 = c2 ^ rotl(c4, 1);
    const d4 = c3 ^ rotl(c0, 1);
    const b0 = a0 ^ d0, b1 = rotl(a6 ^ d1, 44), b2 = rotl(a12 ^ d2, 43);
    const b3 = rotl(a18 ^ d3, 21), b4 = rotl(a24 ^ d4, 14);
    const b5 = rotl(a3 ^ d3, 28), b6 = rotl(a9 ^ d4, 20), b7 = rotl(a10 ^ d0, 3);
    const b8 = rotl(a16 ^ d1, 45), b9 = rotl(a22 ^ d2, 61);
    const b10 = rotl(a1 ^ d1, 1), b11 = rotl(a7 ^ d2, 6), b12 = rotl(a13 ^ d3, 25);
    const b13 = rotl(a19 ^ d4, 8), b14 = rotl(a20 ^ d0, 18);
    const b15 = rotl(a4 ^ d4, 27), b16 = rotl(a5 ^ d0, 36), b17 = rotl(a11 ^ d1, 10);
    const b18 = rotl(a17 ^ d2, 15), b19 = rotl(a23 ^ d3, 56);
    const b20 = rotl(a2 ^ d2, 62), b21 = rotl(a8 ^ d3, 55), b22 = rotl(a14 ^ d4, 39);
    const b23 = rotl(a15 ^ d0, 41), b24 = rotl(a21 ^ d1, 2);
    a0 = b0 ^ (~b1 & b2) ^ load<u64>(ROUNDS + 8 * round);
    a1 = b1 ^ (~b2 & b3);
    a2 = b2 ^ (~b3 & b4);
    a3 = b3 ^ (~b4 & b0);
    a4 = b4 ^ (~b0 & b1);
    a5 = b5 ^ (~b6 & b7);
    a6 = b6 ^ (~b7 & b8);
    a7 = b7 ^ (~b8 & b9);
    a8 = b8 ^ (~b9 & b5);
    a9 = b9 ^ (~b5 & b6);
    a10 = b10 ^ (~b11 & b12);
    a11 = b11 ^ (~b12 & b13);
    a12 = b12 ^ (~b13 & b14);
    a13 = b13 ^ (~b14 & b10);
    a14 = b14 ^ (~b10 & b11);
    a15 = b15 ^ (~b16 & b17);
    a16 = b16 ^ (~b17 & b18);
    a17 = b17 ^ (~b18 & b19);
    a18 = b18 ^ (~b19 & b15);
    a19 = b19 ^ (~b15 & b16);
    a20 = b20 ^ (~b21 & b22);
    a21 = b21 ^ (~b22 & b23);
    a22 = b22 ^ (~b23 & b24);
    a23 = b23 ^ (~b24 & b20);
    a24 = b24 ^ (~b20 & b21);
  }
  setLane(0, a0); setLane(1, a1); setLane(2, a2); setLane(3, a3); setLane(4, a4);
  setLane(5, a5); setLane(6, a6); setLane(7, a7); setLane(8, a8); setLane(9, a9);
  setLane(10, a10); setLane(11, a11); setLane(12, a12); setLane(13, a13); setLane(14, a14);
  setLane(15, a15); setLane(16, a16); setLane(17, a17); setLane(18, a18); setLane(19, a19);
  setLane(20, a20); setLane(21, a21); setLane(22, a22); setLane(23, a23); setLane(24, a24);
}

/** Writes the 32 bytes of the hash at `out`, which may be inside the message. */
export function keccak(out: usize, message: usize, length: usize): void {
  memory.fill(STATE, 0, 200);
  let at = message;
  let left = length;
  for (; left >= RATE; left -= RATE) {
    for (let i: usize = 0; i < RATE; i += 8) store<u64>(STATE + i, load<u64>(STATE + i) ^ load<u64>(at + i));
    at += RATE;
    permute();
  }
  for (let i: usize = 0; i < left; i++) store<u8>(STATE + i, load<u8>(STATE + i) ^ load<u8>(at + i));
  store<u8>(STATE + left, load<u8>(STATE + left) ^ 0x01);
  store<u8>(STATE + RATE - 1, load<u8>(STATE + RATE - 1) ^ 0x80);
  permute();
  memory.copy(out, STATE, 32);
}
