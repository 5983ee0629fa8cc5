/** Tests of clusters that run in the soak and are skipped in the suite (support/together.ts). */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('soakOnly');
