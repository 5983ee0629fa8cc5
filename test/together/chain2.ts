/** Tests of contracts and of what they are sent, on one local chain (support/together.ts). */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('chain2');
