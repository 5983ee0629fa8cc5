/**
 * How much does it cost to verify the signer of an order? The EIP-712 digest and the check of its signature, each in
 * its reference and in its fast form, on one thread. Every digest and every signature is different.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Bench } from 'tinybench';
import { CachedNobleVerifier } from '../engine/verify/cachedNoble.ts';
import { createVerifier } from '../engine/verify/createVerifier.ts';
import { makeTable, packTable, unpackTable } from '../engine/verify/pointTable.ts';
import { SharedTables } from '../engine/verify/sharedTables.ts';
import type { Verifier } from '../engine/verify/verifier.ts';
import { assert } from '../shared/base/assert.ts';
import { SIDE } from '../shared/base/codes.ts';
import { ADDRESS_BYTES, tryParseHex } from '../shared/base/hex.ts';
import { OrderSigner } from '../shared/client/orderSigner.ts';
import { DOMAIN_NAME, DOMAIN_VERSION, hasherFor } from '../shared/crypto/eip712.ts';
import { createKeccak } from '../shared/crypto/fastKeccak.ts';
import { type Keccak256, keccak256 } from '../shared/crypto/keccak.ts';
import { loadSecp256k1 } from '../shared/crypto/secp256k1.ts';
import { createTableMemory, SIGNER_WINDOW_BITS } from '../shared/wire/tableLayout.ts';
import { Random } from '../test/support/random.ts';
import { compareKernel } from './kernelRounds.ts';
import { atLeast, atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const SECONDS_EACH = 1;
const SIGNED_ORDERS = 64;
const TRAFFIC_SIGNERS = 100;
const TRAFFIC_ORDERS = 3000;
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
  const cached = new CachedNobleVerifier(wasmKeccak);
  const verifiers: [string, Verifier][] = [
    ['noble, recovered', createVerifier('noble', wasmKeccak)],
    ['noble, key and table kept', cached],
    ['native, recovered', createVerifier('native', wasmKeccak)],
    ['native, key kept: ignores v', storedKeyVerifier()],
  ];
  for (const [name, verifier] of verifiers) {
    let index = 0;
    rows.push(
      await measure(`verify, ${name}`, () => {
        const { digest, signature } = signed[index++ % SIGNED_ORDERS];
        assert(verifier.verify(digest, 0, signature, 0, address, 0), 'signatures: a right signature is accepted');
      }),
    );
  }
  const p50 = (start: string): number => Number(rows.find(({ what }) => String(what).startsWith(start))?.['p50 us']);
  rows.push(await measure('a table, taken from another thread', takeLoop(address)));
  const traffic = keptInTraffic(wasmKeccak);
  rows.push({ what: `${TRAFFIC_SIGNERS} signers, some often: found in the cache`, '%': traffic.hitPercent });
  rows.push({ what: 'the tables of those that come often', KiB: traffic.bytes / 1024 });
  const kernel = compareKernel();
  return {
    bench: 'signatures',
    settings: `one thread, ${SECONDS_EACH} s each; the kernel beside native recovery in short rounds`,
    rows: [...rows, ...kernel.rows],
    goals: [
      ...kernel.goals,
      atMost('digest, us', p50('digest, wasm'), 5),
      atLeast('noble recovered / native', p50('verify, noble, recovered') / p50('verify, native, recovered'), 12),
      atLeast('noble recovered / kept', p50('verify, noble, recovered') / p50('verify, noble, key'), 3.5),
    ],
  };
}

/**
 * The saving of a check against a remembered key. Its result can differ from that of recovery, so no verifier does it.
 */
function storedKeyVerifier(): Verifier {
  const { ecdsaVerify } = loadSecp256k1();
  const publicKey = secp256k1.getPublicKey(bytesOf(PRIVATE_KEY, DIGEST_BYTES), false);
  const verify: Verifier['verify'] = (digest, _digestOffset, signature) =>
    ecdsaVerify(signature.subarray(0, SIGNATURE_BYTES - 1), digest, publicKey);
  return { name: 'native', verify };
}

/** The work of a shard, once for each signer for which a verifier thread has made a table. */
function takeLoop(address: Uint8Array): () => void {
  const shared = new SharedTables(createTableMemory());
  const key = secp256k1.Point.fromBytes(secp256k1.getPublicKey(bytesOf(PRIVATE_KEY, DIGEST_BYTES)));
  shared.publish(address, 0, packTable(makeTable(key, SIGNER_WINDOW_BITS)));
  return () => {
    const packed = shared.read(address, 0);
    assert(packed !== undefined, 'signatures: the table is there');
    assert(unpackTable(packed, SIGNER_WINDOW_BITS) !== undefined, 'signatures: it is whole');
  };
}

/** A realistic mix of signers: the n-th appears 1/n times as often as the first. */
function keptInTraffic(keccak: Keccak256): { hitPercent: number; bytes: number } {
  const cached = new CachedNobleVerifier(keccak);
  const asked = Array.from({ length: TRAFFIC_SIGNERS }, (_, index) => {
    const signer = new OrderSigner(`0x${(index + 1).toString(16).padStart(64, '0')}`, DOMAIN);
    return { address: bytesOf(signer.address, ADDRESS_BYTES), ...signOne(signer, index) };
  });
  const shares: number[] = [];
  for (const index of asked.keys()) shares.push((shares.at(-1) ?? 0) + 1 / (index + 1));
  const random = new Random(1);
  for (let i = 0; i < TRAFFIC_ORDERS; i++) {
    const share = (random.below(1_000_000) / 1_000_000) * shares.at(-1)!;
    const { digest, signature, address } = asked[shares.findIndex((upTo) => share < upTo)];
    assert(cached.verify(digest, 0, signature, 0, address, 0), 'signatures: a right signature is accepted');
  }
  return { hitPercent: (100 * cached.hits) / TRAFFIC_ORDERS, bytes: cached.cachedBytes };
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

/** The digest of a command record's bytes, as in the shard; the salt changes every time. */
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
