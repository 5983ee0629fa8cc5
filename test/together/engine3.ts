/** A third of the unit tests of engine in one process (support/together.ts). */
import { runTogether } from '../support/together.ts';

await runTogether('engine3');
