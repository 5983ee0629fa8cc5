/** Tests that start servers of their own, one file after the other (support/together.ts). */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('own5');
