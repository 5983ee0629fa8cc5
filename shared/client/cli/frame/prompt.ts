/** Secrets are typed without being shown, or come through a pipe, because others can see the command line. */
import type { Input, Terminal } from './terminal.ts';

const ENTER = /[\r\n]/;
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const ERASE: readonly string[] = ['\x7f', '\b'];

/**
 * Asks a person at the terminal; the typing is not shown, even if it comes before its question.
 * @returns an answer for each question; empty if the terminal is gone.
 */
export async function askHidden({ input, err }: Terminal, ...questions: readonly string[]): Promise<string[]> {
  const answers: string[] = [];
  input.setRawMode?.(true);
  try {
    err.write(questions[0]);
    const line: string[] = [];
    for await (const sign of signsOf(input)) {
      if (sign === CTRL_C) throw new Error('interrupted');
      if (ERASE.includes(sign)) line.pop();
      else if (!ENTER.test(sign) && sign !== CTRL_D) line.push(sign);
      else {
        answers.push(line.splice(0).join('').trim());
        err.write('\n');
        if (answers.length === questions.length) break;
        err.write(questions[answers.length]);
      }
    }
  } finally {
    input.setRawMode?.(false);
    input.pause();
  }
  return questions.map((_, at) => answers[at] ?? '');
}

/** The rest of a paste answers the next question. */
async function* signsOf(input: Input): AsyncGenerator<string> {
  for await (const chunk of input.iterator({ destroyOnReturn: false })) yield* String(chunk);
}

/** Everything that comes through the pipe. */
export async function readInput({ input }: Terminal): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}
