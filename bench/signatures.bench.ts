/**
 * What does it cost to know that an order is its owner's? The EIP-712 digest and the check of its signature, each in
 * its reference and in its fast form, on one thread. Every digest and every signature is a different one.
 */
import { Bench } from 'tinybench';
import { createVerifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/assert.ts';
import { SIDE } from '../shared/codes.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor } from '../shared/eip712.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/hex.ts';
import { createKeccak, keccak256 } from '../shared/keccak.ts';
import { OrderSigner } from '../shared/sdk/order.ts';
import { type Report, type Row, STOLEN, StealMeter } from './report.ts';

const SECONDS_EACH = 1;
const SIGNED_ORDERS = 64;
const SIGNATURE_BYTES = 65;
const DIGEST_BYTES = 32;

const DOMAIN = {
  name: DOMAIN_NAME,
  version: DOMAIN_VERSION,
  chainId: 137,
  verifyingContract: '0x00000000000000000000000000000000000000ee',
};
const PRIVATE_KEY = `0x${'11'.repeat(32)}`;

type Signed = { readonly digest: Uint8Array; readonly signature: Uint8Array };

export async function run(): Promise<Report> {
  const wasmKeccak = await createKeccak();
  const signer = new OrderSigner(PRIVATE_KEY, DOMAIN);
  const signed = Array.from({ length: SIGNED_ORDERS }, (_, index) => signOne(signer, index));
  const address = bytesOf(signer.address, ADDRESS_BYTES);

  const rows: Row[] = [];
  for (const [name, keccak] of [
    ['noble', keccak256],
    ['wasm', wasmKeccak],
  ] as const) {
    const digest = digestLoop(hasherFor(DOMAIN, keccak));
    rows.push(await measure(`digest, ${name} keccak`, digest));
  }
  for (const choice of ['noble', 'native'] as const) {
    const verifier = createVerifier(choice, wasmKeccak);
    let index = 0;
    rows.push(
      await measure(`verify, ${choice}`, () => {
        const { digest, signature } = signed[index++ % SIGNED_ORDERS];
        assert(verifier.verify(digest, 0, signature, 0, address, 0), 'signatures: a right signature is accepted');
      }),
    );
  }
  return {
    bench: 'signatures',
    settings: `one thread, ${SECONDS_EACH} s each, verify is recovery of the key`,
    rows,
    goals: [],
  };
}

async function measure(what: string, task: () => void): Promise<Row> {
  const steal = new StealMeter();
  const bench = new Bench({ time: SECONDS_EACH * 1000, warmupTime: 200 });
  bench.add(what, task);
  const [{ result }] = await bench.run();
  assert(result.state === 'completed', 'signatures: the task ran to its end');
  const { latency, throughput } = result;
  return {
    what,
    'per second': throughput.p50,
    'p50 us': latency.p50 * 1000,
    'p99 us': latency.p99 * 1000,
    [STOLEN]: steal.percent(),
  };
}

/** The digest of a command record's bytes, as the shard takes it; the salt changes every time. */
function digestLoop(hasher: ReturnType<typeof hasherFor>): () => void {
  const bytes = new Uint8Array(104);
  const out = new Uint8Array(DIGEST_BYTES);
  let salt = 0;
  return () => {
    bytes[31] = salt;
    bytes[30] = salt++ >>> 8;
    hasher.digest(bytes, 0, 64, 84, 32, 50_000_000, 100_000_000, 0, 0, 50, 0, SIDE.BUY, out, 0);
  };
}

function signOne(signer: OrderSigner, index: number): Signed {
  const draft = {
    market_id: '',
    token_id: '7',
    side: 'BUY',
    maker_amount: '50000000',
    taker_amount: '100000000',
    nonce: 0,
    fee_rate_bps: 50,
    outcome_index: 0,
  } as const;
  const { body, orderHash } = signer.sign(draft, { salt: String(index) });
  return { digest: bytesOf(orderHash, DIGEST_BYTES), signature: bytesOf(body.signature, SIGNATURE_BYTES) };
}

function bytesOf(hex: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  assert(tryParseHex(hex, length, bytes, 0), 'signatures: hex of the stated length');
  return bytes;
}
