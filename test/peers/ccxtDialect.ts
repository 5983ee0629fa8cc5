/**
 * Our TypeScript as CCXT writes its own, so that CCXT's build takes it to Python, PHP, C# and Go: four spaces, a space
 * before each bracket of a call, keys in quotes, one line for a signature, loops by an index, texts joined by `+`, and
 * neither private methods nor empty lines in a method. What cannot be written so is refused: DIALECT says what.
 */
import type { Json } from '../support/server.ts';

type Edit = { readonly at: number; readonly end: number; readonly text: string };

/** By a variable: its types are not there where the peers are not installed. */
async function loadTypeScript(): Promise<Json> {
  const name: string = 'typescript';
  return (await import(name)).default;
}

/** Kinds of syntax that no other language of CCXT has, or that its build does not read. */
const REFUSED: Readonly<Record<string, string>> = {
  ArrowFunction: 'a closure',
  FunctionExpression: 'a closure',
  SpreadElement: 'a spread',
  SpreadAssignment: 'a spread',
  ObjectBindingPattern: 'taking an object apart',
  ArrayBindingPattern: 'taking a list apart',
  NonNullExpression: 'a claim that something is there',
  RegularExpressionLiteral: 'a regular expression',
  PropertyDeclaration: 'a field of the class',
  PrivateIdentifier: 'a private name',
  QuestionDotToken: '?.',
  QuestionQuestionToken: '??',
  QuestionQuestionEqualsToken: '??=',
  BarBarEqualsToken: '||=',
  DoStatement: 'a loop with its condition at the end',
  SwitchStatement: 'a switch',
};
/** Methods of lists and objects that only JavaScript has. */
const METHODS =
  /^(?:map|filter|find|findIndex|flatMap|flat|forEach|reduce|some|every|includes|at|entries|fromEntries|sort)$/;

/** @returns what is not of the dialect, with its line */
export async function foreignIn(source: string): Promise<string[]> {
  const ts = await loadTypeScript();
  const file = ts.createSourceFile('class.ts', source, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: Json): void => {
    const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    const kind = REFUSED[ts.SyntaxKind[node.kind]];
    if (kind !== undefined) found.push(`${line}: ${kind}`);
    const called = ts.isCallExpression(node) && node.expression.name?.text;
    if (called && METHODS.test(called)) found.push(`${line}: ${called}()`);
    if (ts.isIfStatement(node) && !ts.isBlock(node.thenStatement)) found.push(`${line}: an if without brackets`);
    if (ts.isForOfStatement(node) && !ts.isIdentifier(node.expression)) found.push(`${line}: a loop over no name`);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(file, visit);
  return found;
}

/** @param overridden names of the methods that the base class has */
export async function inDialect(source: string, overridden: ReadonlySet<string>): Promise<string> {
  const ts = await loadTypeScript();
  const file = ts.createSourceFile('class.ts', source, ts.ScriptTarget.Latest, true);
  const edits: Edit[] = [];
  const put = (at: number, text: string, end = at): void => void edits.push({ at, end, text });
  const visit = (node: Json, loops: number): void => {
    const isLoop = ts.isForOfStatement(node);
    for (const [isKind, write] of writersOf(ts)) if (isKind(node)) write(node, put, { source, overridden, loops });
    ts.forEachChild(node, (child: Json) => visit(child, loops + (isLoop ? 1 : 0)));
  };
  ts.forEachChild(file, (node: Json) => visit(node, 0));
  edits.sort((one, other) => other.at - one.at || other.end - one.end);
  let text = source;
  for (const { at, end, text: written } of edits) text = text.slice(0, at) + written + text.slice(end);
  return text.replaceAll(/^ +/gm, widened).replaceAll(/\bUnified\b/g, 'any');
}

/** The lines of a comment are one to the right of its first. */
function widened(spaces: string, at: number, whole: string): string {
  const isComment = whole[at + spaces.length] === '*';
  return isComment ? `${' '.repeat((spaces.length - 1) * 2)} ` : ' '.repeat(spaces.length * 2);
}

type Put = (at: number, text: string, end?: number) => void;
type Around = { readonly source: string; readonly overridden: ReadonlySet<string>; readonly loops: number };
type Writer = readonly [(node: Json) => boolean, (node: Json, put: Put, around: Around) => void];

function writersOf(ts: Json): readonly Writer[] {
  const isMultiline = (node: Json): boolean => /\[\s*\n/.test(node.getText());
  return [
    [ts.isMethodDeclaration, writeSignature],
    [ts.isCallExpression, (node, put) => put(node.expression.end, ' ')],
    [ts.isNewExpression, (node, put) => put(node.expression.end, ' ')],
    [
      ts.isPropertyAssignment,
      ({ name }, put) => ts.isIdentifier(name) && put(name.getStart(), `'${name.text}'`, name.end),
    ],
    [ts.isShorthandPropertyAssignment, ({ name }, put) => put(name.getStart(), `'${name.text}': `)],
    [
      (node) => ts.isArrayLiteralExpression(node) && node.elements.length > 0 && !isMultiline(node),
      (node, put) => {
        put(node.getStart() + 1, ' ');
        put(node.end - 1, ' ');
      },
    ],
    [
      (node) => ts.isConditionalExpression(node) && ts.isBinaryExpression(node.condition),
      ({ condition }, put) => {
        put(condition.getStart(), '(');
        put(condition.end, ')');
      },
    ],
    [
      // A variable without a value is no statement of Python.
      (node) =>
        ts.isVariableDeclaration(node) &&
        node.initializer === undefined &&
        !ts.isForOfStatement(node.parent.parent) &&
        !ts.isCatchClause(node.parent),
      (node, put) => put(node.end, ' = undefined'),
    ],
    [ts.isForOfStatement, writeLoop],
    [ts.isTemplateExpression, writeText],
  ];
}

/** In one line, as CCXT's build reads no other one, and with the names of the base class for what is not used. */
function writeSignature(node: Json, put: Put, { source, overridden }: Around): void {
  const modifiers: Json[] = node.modifiers ?? [];
  const start = node.getStart();
  const isAsync = modifiers.some((modifier) => modifier.getText() === 'async');
  const override = overridden.has(node.name.text) ? 'override ' : '';
  put(start, `${override}${isAsync ? 'async ' : ''}`, node.name.getStart());
  const rest = source.slice(node.name.end, node.body.getStart());
  const line = rest
    .replaceAll(/\s+/g, ' ')
    .replace('( ', '(')
    .replace(', )', ')')
    .replaceAll(/\b_(?=\w+[:?])/g, '');
  put(node.name.end, ` ${line}`, node.body.getStart());
}

function writeLoop(node: Json, put: Put, { loops }: Around): void {
  const index = 'ijk'[loops];
  const list = node.expression.text;
  const name = node.initializer.declarations[0].name.text;
  const indent = ' '.repeat(columnOf(node) + 2);
  const head = `for (let ${index} = 0; ${index} < ${list}.length; ${index}++) {`;
  put(node.getStart(), `${head}\n${indent}const ${name} = ${list}[${index}];`, node.statement.getStart() + 1);
}

function columnOf(node: Json): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).character;
}

/** `a${b}c` becomes 'a' + b + 'c'. */
function writeText(node: Json, put: Put): void {
  const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;
  const { head, templateSpans } = node;
  put(head.getStart(), head.text === '' ? '' : `${quoted(head.text)} + `, head.end);
  for (const { literal } of templateSpans) {
    const isLast = literal.getText().endsWith('`');
    const text = literal.text === '' ? '' : ` + ${quoted(literal.text)}`;
    put(literal.getStart(), isLast ? text : `${text} + `, literal.end);
  }
}
