/**
 * The commands of the documents: fenced blocks whose info string says, after the language, what `npm run guides` does
 * with them. CONTRIBUTING.md lists the marks.
 *
 * Invariant:
 *   GUIDE-1  A block in the language of a program is marked. One that is not run says why.
 */

const LANGUAGES = {
  sh: 'sh',
  bash: 'sh',
  console: 'console',
  js: 'js',
  javascript: 'js',
  ts: 'js',
  typescript: 'js',
  py: 'python',
  python: 'python',
} as const;
type Language = (typeof LANGUAGES)[keyof typeof LANGUAGES];

export type Block = {
  /** Number of the line of its fence, or of the comment that it stands in. */
  readonly line: number;
  /** The heading that it is under. */
  readonly section: string;
  /** Null for text that is no program: an output to compare, or the content of a file. */
  readonly language: Language | null;
  readonly text: string;
  readonly marks: Marks;
};

type Marks = {
  readonly run: boolean;
  /** Root runs it on the machine that all documents about production share (rootWalk.ts). */
  readonly root: boolean;
  /** Its program is the document's server from here on. */
  readonly server: boolean;
  /** The document's server is stopped first. */
  readonly stopped: boolean;
  /** It shows the output of the block before. */
  readonly output: boolean;
  /**
   * From here on its program is this member of a cluster; a running member of this name is stopped in order first. A
   * dialogue runs on the machine of the stopped member.
   */
  readonly member: string | null;
  /** The machine of a database (machines.ts) on which it is run. */
  readonly on: string | null;
  /** The file that it is written to. */
  readonly file: string | null;
  readonly exit: number;
  /** Commands, modules of Python as `python3:name` and folders to write in, without which it is skipped. */
  readonly needs: readonly string[];
  /** The reason why it is not run. */
  readonly norun: string | null;
};

class MarkError extends Error {
  override readonly name = 'MarkError';
}

const HEADING = /^##? (.*)$/;
const FENCE = /^```(\S*)[ \t]*(.*)$/;
const HIDDEN = /^<!-- (run|root)\b(.*)$/;
const MARK = /([a-z]+)(?:=(?:"([^"]*)"|(\S+)))?(?:\s+|$)/y;
const FLAGS = ['run', 'root', 'server', 'stopped', 'output'] as const;

/** @returns the marked blocks in their order. Throws a MarkError that begins with the number of the line. */
export function blocksOf(document: string): Block[] {
  const lines = document.split('\n');
  const blocks: Block[] = [];
  let section = '';
  for (let index = 0; index < lines.length; index++) {
    const line = index + 1;
    section = HEADING.exec(lines[index]!)?.[1] ?? section;
    const fence = FENCE.exec(lines[index]!);
    const hidden = HIDDEN.exec(lines[index]!);
    if (fence === null && hidden === null) continue;
    const end = lines.indexOf(fence === null ? '-->' : '```', line);
    if (end < 0) throw new MarkError(`${line}: the block does not end`);
    index = end;
    const [name, marks] = fence === null ? ['sh', `${hidden![1]}${hidden![2]}`] : [fence[1]!, fence[2]!];
    const language = (LANGUAGES as Record<string, Language>)[name] ?? null;
    const text = lines.slice(line, end).join('\n');
    const block = { line, section, language, text, marks: marksOf(marks.trim(), line) };
    if (isMarked(block)) blocks.push(block);
  }
  return blocks;
}

function marksOf(text: string, line: number): Marks {
  const found = new Map<string, string>();
  MARK.lastIndex = 0;
  while (MARK.lastIndex < text.length) {
    const at = MARK.lastIndex;
    const match = MARK.exec(text);
    if (match === null) throw new MarkError(`${line}: not a mark: ${text.slice(at)}`);
    const [, name, quoted, plain] = match;
    const value = quoted ?? plain ?? '';
    const isFlag = (FLAGS as readonly string[]).includes(name!);
    if (!isFlag && !['file', 'exit', 'member', 'on', 'needs', 'norun'].includes(name!)) {
      throw new MarkError(`${line}: unknown mark ${name}`);
    }
    if (isFlag !== (value === '')) throw new MarkError(`${line}: ${name} has ${isFlag ? 'no' : 'a'} value`);
    found.set(name!, value);
  }
  return {
    run: found.has('run'),
    root: found.has('root'),
    server: found.has('server'),
    stopped: found.has('stopped'),
    output: found.has('output'),
    member: found.get('member') ?? null,
    on: found.get('on') ?? null,
    file: found.get('file') ?? null,
    exit: Number(found.get('exit') ?? 0),
    needs: (found.get('needs') ?? '').split(',').filter((name) => name !== ''),
    norun: found.get('norun') ?? null,
  };
}

/** GUIDE-1. Text without a mark is an illustration. */
function isMarked({ line, language, marks }: Block): boolean {
  const { run, root, output, file, norun } = marks;
  if (language !== null && !run && !root && file === null && norun === null && !output) {
    throw new MarkError(`${line}: a block of commands is marked run, root, file=NAME or norun="why"`);
  }
  if ((run || root) && norun !== null) throw new MarkError(`${line}: run and norun exclude each other`);
  if (run && language === null) throw new MarkError(`${line}: no program of this language can be run`);
  return run || root || output || file !== null || norun !== null;
}
