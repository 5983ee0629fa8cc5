/**
 * Lines of a file or a stream of text. A line ends with a newline, with or without a carriage return before it, and
 * with nothing else: `readline` of later Nodes ends lines at U+2028 and U+2029 too, which JSON leaves in its texts.
 */

/** The last line need not have an end. Bytes that are no UTF-8 are read as U+FFFD. */
export async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let rest = '';
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield withoutReturn(line);
  }
  rest += decoder.decode();
  if (rest !== '') yield withoutReturn(rest);
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
