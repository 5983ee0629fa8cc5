/** A third of the unit tests of gateway in one process (support/together.ts). */
import { runTogether } from '../support/together.ts';

await runTogether('gateway2');
