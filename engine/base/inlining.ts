/**
 * Imported first by the entry of a thread that runs an engine: lets V8 compile more functions into their callers. A
 * command passes through some sixty small functions. With V8's default limits, which are meant for web pages, a third
 * of them remain calls, and after every call the same values are loaded and checked again. With these limits a command
 * takes a fifth less time (bench/matching.bench.ts), and compilation, which happens once, a fifth more.
 *
 * V8 has one set of limits for all threads of a process; it reads them whenever it compiles.
 */
import { setFlagsFromString } from 'node:v8';

/**
 * Bytes of bytecode: the total that one function may take in (V8's default is 920), and the size of each inlined
 * function (460).
 */
setFlagsFromString('--max-inlined-bytecode-size-cumulative=4000');
setFlagsFromString('--max-inlined-bytecode-size=600');
