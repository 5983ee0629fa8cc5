/** The unit tests of bench, book and shared in one process (support/together.ts). */
import { runTogether } from '../support/together.ts';

await runTogether('shared');
