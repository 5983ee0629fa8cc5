/** Secrets are typed where nothing shows them, or come through a pipe; others see the command line. */
import type { Terminal } from './terminal.ts';

const ENTER = /[\r\n]/;
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const ERASE = /[\x7f\b]/;

/** Asks a person at the terminal; what is typed is not shown. */
export async function askHidden({ input, err }: Terminal, question: string): Promise<string> {
  err.write(question);
  input.setRawMode?.(true);
  let typed = '';
  try {
    for await (const chunk of input.iterator({ destroyOnReturn: false })) {
      for (const sign of String(chunk)) {
        if (ENTER.test(sign) || sign === CTRL_D) return typed;
        if (sign === CTRL_C) throw new Error('interrupted');
        typed = ERASE.test(sign) ? typed.slice(0, -1) : typed + sign;
      }
    }
    return typed;
  } finally {
    input.setRawMode?.(false);
    input.pause();
    err.write('\n');
  }
}

/** All that comes through the pipe. */
export async function readInput({ input }: Terminal): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
