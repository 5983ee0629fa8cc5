/**
 * The places of a source at which one token or one statement can be mutated, found over the syntax tree of the
 * TypeScript compiler. Text for clients and operators is left alone: logs, messages, descriptions, types. So are
 * assertions: removing them from a correct program is invisible to every test.
 */
import {
  type CallExpression,
  type Expression,
  type Node,
  type NodeArray,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';

type Operator =
  | 'condition'
  | 'comparison'
  | 'equality'
  | 'logic'
  | 'arithmetic'
  | 'number'
  | 'boolean'
  | 'statement'
  | 'guard'
  | 'await'
  | 'arguments'
  | 'sql';

export type Place = {
  readonly operator: Operator;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
};

const SWAPPED: ReadonlyMap<SyntaxKind, readonly [Operator, string]> = new Map([
  [SyntaxKind.LessThanToken, ['comparison', '<=']],
  [SyntaxKind.LessThanEqualsToken, ['comparison', '<']],
  [SyntaxKind.GreaterThanToken, ['comparison', '>=']],
  [SyntaxKind.GreaterThanEqualsToken, ['comparison', '>']],
  [SyntaxKind.EqualsEqualsEqualsToken, ['equality', '!==']],
  [SyntaxKind.ExclamationEqualsEqualsToken, ['equality', '===']],
  [SyntaxKind.AmpersandAmpersandToken, ['logic', '||']],
  [SyntaxKind.BarBarToken, ['logic', '&&']],
  [SyntaxKind.PlusToken, ['arithmetic', '-']],
  [SyntaxKind.MinusToken, ['arithmetic', '+']],
  [SyntaxKind.AsteriskToken, ['arithmetic', '+']],
  [SyntaxKind.SlashToken, ['arithmetic', '*']],
  [SyntaxKind.PercentToken, ['arithmetic', '*']],
  [SyntaxKind.LessThanLessThanToken, ['arithmetic', '>>>']],
  [SyntaxKind.GreaterThanGreaterThanGreaterThanToken, ['arithmetic', '<<']],
  [SyntaxKind.PlusEqualsToken, ['arithmetic', '-=']],
  [SyntaxKind.MinusEqualsToken, ['arithmetic', '+=']],
]);

/** Pairs of SQL that a tired eye takes for each other; each is replaced by the other. */
const SQL_PAIRS: readonly (readonly [RegExp, string])[] = [
  [/ > /, ' >= '],
  [/ >= /, ' > '],
  [/ < /, ' <= '],
  [/ <= /, ' < '],
  [/ <> /, ' = '],
  [/ DESC\b/, ' ASC'],
  [/\bORDER BY \w+(?! DESC)\b/, '$& DESC'],
  [/ AND /, ' OR '],
];
const SQL = /\b(?:SELECT|UPDATE|DELETE|INSERT|WHERE|ORDER BY)\b/;
const UNWATCHED_CALL = /^(?:assert\w*|(?:.*\.)?log\.\w+|(?:.*\.)?#log\.\w+|console\.\w+)$/;
/** Their arguments may stand in any order. */
const COMMUTATIVE = /^Math\.(?:max|min|imul)\(/;
/** Members whose values people read. */
const PROSE = new Set(['summary', 'description', 'message', 'title', 'help', 'name', 'rule', 'examples', 'example']);

export function placesIn(source: SourceFile): Place[] {
  const places: Place[] = [];
  const add = (operator: Operator, node: Node, replacement: string): void => {
    places.push({ operator, start: node.getStart(source), end: node.end, replacement });
  };
  const visit = (node: Node): void => {
    if (isLeftAlone(node, source)) return;
    for (const [operator, target, replacement] of slipsAt(node, source)) add(operator, target, replacement);
    if (isText(node)) places.push(...sqlPlaces(node, source));
    node.forEachChild((child) => {
      visit(child);
    });
  };
  visit(source);
  return places;
}

function isLeftAlone(node: Node, source: SourceFile): boolean {
  if (is.isTypeNode(node) || is.isImportDeclaration(node) || is.isThrowStatement(node)) return true;
  if (is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node)) return true;
  if (is.isExpressionStatement(node)) return isLog(node, source);
  if (is.isCallExpression(node)) return isUnwatched(node, source);
  // A condition that only decides whether something is logged.
  if (is.isIfStatement(node)) return node.elseStatement === undefined && isLog(node.thenStatement, source);
  if (is.isNewExpression(node)) return /Error$/.test(node.expression.getText(source));
  return is.isPropertyAssignment(node) && PROSE.has(node.name.getText(source));
}

function isLog(node: Node, source: SourceFile): boolean {
  if (!is.isExpressionStatement(node)) return false;
  return is.isCallExpression(node.expression) && isUnwatched(node.expression, source);
}

function isUnwatched({ expression }: CallExpression, source: SourceFile): boolean {
  return UNWATCHED_CALL.test(expression.getText(source));
}

type Slip = readonly [operator: Operator, target: Node, replacement: string];

function slipsAt(node: Node, source: SourceFile): Slip[] {
  if (is.isBinaryExpression(node)) {
    const swapped = SWAPPED.get(node.operatorToken.kind);
    return swapped === undefined ? [] : [[swapped[0], node.operatorToken, swapped[1]]];
  }
  if (is.isIfStatement(node)) {
    const slips: Slip[] = [['condition', node.expression, negated(node.expression, source)]];
    if (node.elseStatement === undefined) slips.push(['guard', node, '{}']);
    return slips;
  }
  if (is.isConditionalExpression(node)) return [['condition', node.condition, negated(node.condition, source)]];
  if (is.isExpressionStatement(node)) return isRemovable(node.expression) ? [['statement', node, '{}']] : [];
  if (is.isAwaitExpression(node)) return [['await', node, node.expression.getText(source)]];
  if (is.isCallExpression(node)) return COMMUTATIVE.test(node.getText(source)) ? [] : swappedArguments(node, source);
  if (is.isNumericLiteral(node)) return [['number', node, oneMore(node.getText(source))]];
  if (node.kind === SyntaxKind.TrueKeyword) return [['boolean', node, 'false']];
  if (node.kind === SyntaxKind.FalseKeyword) return [['boolean', node, 'true']];
  if (is.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken) {
    return [['condition', node, node.operand.getText(source)]];
  }
  if (is.isPostfixUnaryExpression(node)) {
    const other = node.operator === SyntaxKind.PlusPlusToken ? '--' : '++';
    return [['arithmetic', node, node.operand.getText(source) + other]];
  }
  return [];
}

function negated(condition: Expression, source: SourceFile): string {
  return `!(${condition.getText(source)})`;
}

/** Without `super()` a class is no program. */
function isRemovable(expression: Expression): boolean {
  return !(is.isCallExpression(expression) && expression.expression.kind === SyntaxKind.SuperKeyword);
}

function swappedArguments({ arguments: given }: CallExpression, source: SourceFile): Slip[] {
  return pairsOf(given).flatMap(([first, second]): Slip[] => {
    const [a, b] = [first.getText(source), second.getText(source)];
    if (a === b) return [];
    const between = source.text.slice(first.end, second.getStart(source));
    const both = { getStart: () => first.getStart(source), end: second.end } as unknown as Node;
    return [['arguments', both, b + between + a]];
  });
}

/** Neighbours of a list. */
function pairsOf<T extends Node>(nodes: NodeArray<T>): (readonly [T, T])[] {
  return [...nodes].slice(1).map((node, index) => [nodes[index], node] as const);
}

function oneMore(literal: string): string {
  return `(${literal} + 1)`;
}

function isText(node: Node): boolean {
  return (
    is.isStringLiteral(node) ||
    is.isNoSubstitutionTemplateLiteral(node) ||
    is.isTemplateHead(node) ||
    is.isTemplateMiddle(node) ||
    is.isTemplateTail(node)
  );
}

function sqlPlaces(node: Node, source: SourceFile): Place[] {
  const start = node.getStart(source);
  const text = source.text.slice(start, node.end);
  if (!SQL.test(text)) return [];
  return SQL_PAIRS.flatMap(([from, to]) =>
    [...text.matchAll(new RegExp(from, 'g'))].map((match) => ({
      operator: 'sql' as const,
      start: start + match.index,
      end: start + match.index + match[0].length,
      replacement: match[0].replace(from, to),
    })),
  );
}
