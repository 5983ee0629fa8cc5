/**
 * How much does it cost to verify the signer of an order? The EIP-712 digest and the check of its signature, on one
 * thread: by the reference, by the kernel, and by libsecp256k1 (kernelRounds.ts). Every digest and every signature is
 * different.
 */
import { Bench } from 'tinybench';
import { Kernel } from '../engine/verify/kernel/kernel.ts';
import { nobleVerifier } from '../engine/verify/noble.ts';
import { placeDigest } from '../engine/verify/placeDigest.ts';
import { assert } from '../shared/base/assert.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/base/hex.ts';
import { OrderSigner } from '../shared/client/orderSigner.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { keccak256 } from '../shared/crypto/keccak.ts';
import { COMMAND } from '../shared/wire/commands.ts';
import { compareKernel } from './kernelRounds.ts';
import { atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

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
  const byKernel = await measure('digest, kernel', kernelDigestLoop());
  const rows = [
    await measure('digest, noble keccak', digestLoop(hasherFor(DOMAIN, keccak256))),
    await measure('digest, wasm keccak', digestLoop(hasherFor(DOMAIN, wasmKeccak))),
    byKernel,
    await measure('verify, noble', nobleLoop()),
  ];
  const kernel = compareKernel();
  return {
    bench: 'signatures',
    settings: `one thread, ${SECONDS_EACH} s each; the kernel beside native recovery in short rounds`,
    rows: [...rows, ...kernel.rows],
    goals: [...kernel.goals, atMost('digest, us', Number(byKernel['p50 us']), 5)],
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

/** The digest of an order's bytes, as in the gateway; the salt changes every time. */
function digestLoop(hasher: ReturnType<typeof hasherFor>): () => void {
  const words = new Uint32Array(COMMAND.PLACE.WORDS);
  const bytes = new Uint8Array(words.buffer);
  const out = new Uint8Array(DIGEST_BYTES);
  return () => {
    words[COMMAND.PLACE.salt]++;
    placeDigest(hasher, words, bytes, 0, out, 0);
  };
}

/** The same of a command's record, as in the shard. */
function kernelDigestLoop(): () => void {
  const kernel = new Kernel();
  kernel.setDomain(hasherFor(DOMAIN).separator);
  const words = new Uint32Array(COMMAND.PLACE.WORDS);
  const out = new Uint8Array(DIGEST_BYTES);
  return () => {
    words[COMMAND.PLACE.salt]++;
    kernel.placeDigest(words, 0, out, 0);
  };
}

function nobleLoop(): () => void {
  const verifier = nobleVerifier(keccak256);
  const signer = new OrderSigner(PRIVATE_KEY, DOMAIN);
  const signed = Array.from({ length: SIGNED_ORDERS }, (_, index) => signOne(signer, index));
  const address = bytesOf(signer.address, ADDRESS_BYTES);
  let index = 0;
  return () => {
    const { digest, signature } = signed[index++ % SIGNED_ORDERS];
    assert(verifier.verify(digest, 0, signature, 0, address, 0), 'signatures: a right signature is accepted');
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
