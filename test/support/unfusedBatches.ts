/**
 * A program: the fused kernel decides batches, of which every other one has a forged signature. Its last line has the
 * number of accepted batches of each kind. A test starts it on a V8 that rounds every product, where this kernel must
 * not be used.
 */
import { VERDICT } from '../../engine/verify/kernel/instance.ts';
import { createKeccak } from '../../shared/crypto/fastKeccak.ts';
import { batchVerdicts, createBatchVerifier } from './batchVerdicts.ts';
import { Random } from './random.ts';
import { mutated, SignatureMaker } from './signatureCases.ts';
import { asks } from './signatureOracle.ts';

const BATCHES = 200;
const LARGEST = 16;

const random = new Random(Number(process.argv[2]));
const maker = new SignatureMaker(await createKeccak(), random);
const kernel = createBatchVerifier({ variant: 'fused' });
const people = Array.from({ length: 4 }, () => maker.signer());
const good = Array.from({ length: LARGEST }, (_, index) => maker.next(people[index % people.length]));
/** Alone they are checked without lanes. */
const alone = good.filter((one) => asks(kernel, one) && asks(kernel, one)).length;
let acceptedGood = 0;
let acceptedForged = 0;
for (let round = 0; round < BATCHES; round++) {
  const batch = good.slice(0, random.between(3, LARGEST));
  const isForged = round % 2 === 1;
  if (isForged) batch[0] = mutated(batch[0], batch[1], 'a bit of the digest', random);
  const isAccepted = batchVerdicts(kernel, batch).includes(VERDICT.ACCEPTED);
  if (isAccepted && isForged) acceptedForged++;
  if (isAccepted && !isForged) acceptedGood++;
}
console.log(JSON.stringify({ alone, acceptedGood, acceptedForged }));
