/**
 * A process that cashes out and is killed at a point between two of the seven steps: `fiatVictim.ts DIRECTORY RAIL
 * POINT`. The test goes on with only the files that it leaves in the directory.
 */
import { type CrashPoint, crashAt, walkOffRamp } from './fiatCrashes.ts';
import { FiatRig } from './fiatRig.ts';

const [directory, on, point] = process.argv.slice(2) as [string, 'ledger' | 'evm', CrashPoint];
const rig = new FiatRig({ directory, on });
crashAt(rig, point, () => process.kill(process.pid, 'SIGKILL'));
await walkOffRamp(rig, () => false);
