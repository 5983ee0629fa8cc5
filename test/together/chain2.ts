/** Tests of contracts and of their calls, on one local chain (support/together.ts). */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('chain2');
