/** Secrets are typed where nothing shows them, or come through a pipe; others see the command line. */
import type { Input, Terminal } from './terminal.ts';

const ENTER = /[\r\n]/;
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const ERASE: readonly string[] = ['\x7f', '\b'];

/** The part of a paste that is for the next question. */
const leftOver = new WeakMap<Input, string>();

/** Asks a person at the terminal; what is typed is not shown. */
export async function askHidden({ input, err }: Terminal, question: string): Promise<string> {
  err.write(question);
  input.setRawMode?.(true);
  try {
    return await typedLine(input);
  } finally {
    input.setRawMode?.(false);
    input.pause();
    err.write('\n');
  }
}

async function typedLine(input: Input): Promise<string> {
  const line: string[] = [];
  const before = leftOver.get(input) ?? '';
  leftOver.delete(input);
  if (isEnded(input, before, line)) return line.join('');
  for await (const chunk of input.iterator({ destroyOnReturn: false })) {
    if (isEnded(input, String(chunk), line)) break;
  }
  return line.join('');
}

/** Adds what was typed to the line. @returns whether the line is complete. */
function isEnded(input: Input, typed: string, line: string[]): boolean {
  for (const [at, sign] of [...typed].entries()) {
    if (sign === CTRL_C) throw new Error('interrupted');
    if (ERASE.includes(sign)) line.pop();
    else if (!ENTER.test(sign) && sign !== CTRL_D) line.push(sign);
    else {
      leftOver.set(input, [...typed].slice(at + 1).join(''));
      return true;
    }
  }
  return false;
}

/** All that comes through the pipe. */
export async function readInput({ input }: Terminal): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
