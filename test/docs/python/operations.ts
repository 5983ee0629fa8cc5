/**
 * The methods of the Python client that are generated from the document of the interface: those for operators, and
 * those for cash. Each sends one request and returns the class of its answer; everything else in the client is written
 * by hand.
 */

import type { Answers, OpenApi, Operation, Parameter, Schema } from './models.ts';
import { PYTHON_WORDS } from './names.ts';
import { callText, docstring, importOf, snake } from './operationText.ts';

const JSON_TYPE = 'application/json';
const WIDTH = 120;
const HEAD = '# Made from /openapi.json by `npm run docs`: a change here is lost.';

type Group = {
  /** Name for the file and the classes: "admin" and "Admin". */
  readonly file: string;
  readonly name: string;
  readonly about: string;
  /** The base of the class of `logic`, with its module. */
  readonly base: readonly [string, string];
  readonly isIn: (id: string, path: string) => boolean;
  /** True where a repeat of any change does no harm. */
  readonly isHarmless: boolean;
  /** Methods of the base, which the clients have as well. */
  readonly byHand: readonly string[];
};
type Method = { readonly name: string; readonly verb: string; readonly path: string; readonly of: Operation };

const GROUPS: readonly Group[] = [
  {
    file: 'admin',
    name: 'Admin',
    about: 'What operators do: accounts, keys, money, the catalogue and the platform.',
    base: ['AdminTexts', 'admin_texts'],
    isIn: (id) => id.startsWith('admin'),
    isHarmless: false,
    byHand: ['import_catalogue', 'export_catalogue', 'metrics'],
  },
  {
    file: 'cash',
    name: 'Cash',
    about: 'Cashing in and out: sessions at a provider, whose amounts are decimals of the currency that they name.',
    base: ['CashSigning', 'cash_signing'],
    isIn: (_, path) => path.startsWith('/v1/user/fiat/'),
    isHarmless: true,
    byHand: ['sign_and_authorize'],
  },
];

/** The classes that the methods return, in files by subject. */
export function answersOf(document: OpenApi): Answers {
  const files: Record<string, Record<string, string>> = {
    admin_settlement: { 'part SettlementState': 'SettlementState' },
    admin_catalogue: { 'POST /admin/catalogue/import': 'CatalogueImport' },
  };
  for (const group of GROUPS) {
    for (const { verb, path, of } of methodsOf(document, group)) {
      const [area] = path.split('/').slice(2);
      const file = group.file === 'admin' ? `admin_${AREAS[area!] ?? 'platform'}` : group.file;
      files[file] ??= {};
      const rows = files[file];
      const kinds = answerKinds(of);
      for (const [status, kind] of kinds)
        rows[kinds[0]![0] === status ? `${verb} ${path}` : `${verb} ${path}#${status}`] = kind;
    }
  }
  return files;
}

const AREAS: Readonly<Record<string, string>> = {
  users: 'accounts',
  'api-keys': 'accounts',
  markets: 'catalogue',
  events: 'catalogue',
  fiat: 'cash',
  operations: 'operations',
  cluster: 'cluster',
  settlement: 'settlement',
  approvals: 'approvals',
  operators: 'approvals',
  audit: 'approvals',
};

/** By name: the files of `logic` and of the clients. */
export function operationFiles(document: OpenApi): Map<string, string> {
  const files = new Map<string, string>();
  for (const group of GROUPS) {
    const methods = methodsOf(document, group);
    const parts = chunks(methods);
    parts.forEach((part, index) => {
      const base = index === 0 ? group.base : ([`${group.name}Part${index}`, `${group.file}_${index}`] as const);
      const isLast = index === parts.length - 1;
      const [name, file] = isLast
        ? [`${group.name}Logic`, group.file]
        : [`${group.name}Part${index + 1}`, `${group.file}_${index + 1}`];
      files.set(`logic/${file}.py`, logicFile(document, group, base, name, part));
    });
    files.set(`${group.file}_methods.py`, clientFile(group, methods));
  }
  return files;
}

/** A file has 399 lines at most. */
const METHODS_A_FILE = 7;

function chunks(methods: readonly Method[]): Method[][] {
  const parts = Math.ceil(methods.length / METHODS_A_FILE);
  const size = Math.ceil(methods.length / parts);
  return Array.from({ length: parts }, (_, index) => methods.slice(index * size, (index + 1) * size));
}

function methodsOf(document: OpenApi, { isIn, file }: Group): Method[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([verb, of]) => {
      const { operationId: id, requestBody } = of;
      const isJson = requestBody === undefined || JSON_TYPE in requestBody.content!;
      if (!isIn(id, path) || !isJson || answerKinds(of).length === 0) return [];
      const name = snake(file === 'admin' ? id.slice('admin'.length) : id);
      return [{ name: RENAMED[name] ?? name, verb: verb.toUpperCase(), path, of }];
    }),
  );
}

/** Methods of cash say "fiat" in the interface. */
const RENAMED: Readonly<Record<string, string>> = { list_fiat_sessions: 'sessions', get_fiat_session: 'session' };

/** The answers that a client decodes, by status. */
function answerKinds({ operationId, responses }: Operation): [string, string][] {
  return Object.entries(responses).flatMap(([status, { content }]) => {
    const schema = status.startsWith('2') ? content?.[JSON_TYPE]?.schema : undefined;
    if (schema === undefined) return [];
    const name = schema.$ref?.split('/').at(-1) ?? `${operationId.replace(/^./, (first) => first.toUpperCase())}Answer`;
    return [[status, name]];
  });
}

function logicFile(
  document: OpenApi,
  group: Group,
  [base, module]: readonly [string, string],
  name: string,
  methods: readonly Method[],
): string {
  const text = methods.map((method) => methodText(document, group, method)).join('\n\n');
  const uses = (word: string): boolean => new RegExp(`\\b${word}\\b`).test(text);
  const kinds = [...new Set(methods.flatMap(({ of }) => answerKinds(of).map(([, kind]) => kind)))];
  const models = kinds.filter((kind) => uses(kind)).sort();
  const helpers = [
    'UNSET',
    'Unset',
    'as_decimal',
    'as_list',
    'as_number',
    'as_time',
    'as_units',
    'given',
    'set_or_null',
  ];
  const lines = [
    ...(uses('uuid') ? ['import uuid'] : []),
    ...(uses('datetime') ? ['from datetime import datetime'] : []),
    ...(uses('Decimal') ? ['from decimal import Decimal'] : []),
    importOf('typing', ['Any', 'Literal', 'Mapping', 'Sequence'].filter(uses)),
    '',
    ...(uses('Amount') ? ['from ..amounts import Amount'] : []),
    importOf('..models', models),
    `from .${module} import ${base}`,
    importOf('.operations', helpers.filter(uses)),
    ...(uses('segment') ? ['from .requests import segment'] : []),
    'from .steps import Steps',
  ];
  const imports = lines
    .filter((line, index) => line !== '' || index > 0)
    .join('\n')
    .replaceAll('\n\n\n', '\n\n');
  const head = `"""${group.about}"""\n\n${HEAD}\nfrom __future__ import annotations`;
  const about = '    """One method for each operation."""';
  return `${head}\n\n${imports.replace(/^\n/, '')}\n\n\nclass ${name}(${base}):\n${about}\n\n${text}\n`;
}

type Argument = {
  readonly name: string;
  readonly declared: string;
  readonly sent: string;
  readonly kind: 'path' | 'query' | 'given' | 'null';
  readonly isRequired: boolean;
};

function methodText(document: OpenApi, group: Group, { name, verb, path, of }: Method): string {
  const parameters = (of.parameters ?? []).map((row) => resolved(document, row));
  const args = [
    ...parameters.filter((row) => row.in === 'path').map((row) => pathArgument(row)),
    ...bodyArguments(document, of),
    ...parameters
      .filter((row) => row.in === 'query')
      .map((row) => argument(document, row.name, row.schema, row.required === true, 'query')),
  ];
  const inPath = args.filter(({ kind }) => kind === 'path');
  const named = args.filter(({ kind }) => kind !== 'path').sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
  const hasKey = parameters.some((row) => row.name === 'Idempotency-Key');
  const [[, kind]] = answerKinds(of) as [[string, string]];
  const signature = [
    'self',
    ...inPath.map(({ declared }) => declared),
    ...(named.length > 0 || hasKey ? ['*'] : []),
    ...named.map(({ declared }) => shortened(declared)),
    ...(hasKey ? ['idempotency_key: str | None = None'] : []),
  ];
  const head = `    def ${name}(${signature.join(', ')}) -> Steps[${kind}]:`;
  const wide = `    def ${name}(\n${signature.map((each) => `        ${each},\n`).join('')}    ) -> Steps[${kind}]:`;
  const target = inPath.reduce((at, { name: each, sent }) => at.replace(`{${each}}`, `{${sent}}`), path);
  const body = bodyOf(of, args);
  const query = listOf(args.filter((each) => each.kind === 'query'));
  const isAsked =
    answerKinds(of).some(([status, answer]) => status === '202' && answer === 'Approval') && kind !== 'Approval';
  const rest = [
    ...(query === '' ? [] : [`query=given(${query})`]),
    ...(body === null ? [] : [`body=${body}`]),
    ...(hasKey ? ['headers={"idempotency-key": idempotency_key or str(uuid.uuid4())}'] : []),
    ...((hasKey || group.isHarmless) && verb === 'POST' ? ['repeat="harmless"'] : []),
  ];
  const quoted = inPath.length === 0 ? `"${path}"` : `f"${target}"`;
  const call = [kind, `"${verb}"`, quoted, ...rest];
  const callee = `self._do${isAsked ? '_or_ask' : ''}`;
  const asked = isAsked ? ' ApprovalNeededError where another operator has to approve it.' : '';
  return [
    head.length <= WIDTH ? head : wide,
    docstring(of.summary + asked, describedIn(document, of, parameters)),
    callText(callee, call),
  ].join('\n');
}

/** Words that do not fit in a line have one each. */
function shortened(declared: string): string {
  if (declared.length <= WIDTH - 9) return declared;
  return declared.replace(/Literal\[([^\]]*)\]/, (_, words: string) => {
    const rows = words.split(', ').map((word) => `            ${word},\n`);
    return `Literal[\n${rows.join('')}        ]`;
  });
}

function bodyOf({ requestBody }: Operation, args: readonly Argument[]): string | null {
  if (requestBody === undefined) return null;
  const [plain, nullable] = [
    listOf(args.filter(({ kind }) => kind === 'given')),
    listOf(args.filter(({ kind }) => kind === 'null')),
  ];
  if (nullable === '') return plain === '' ? '{}' : `given(${plain})`;
  return plain === '' ? `set_or_null(${nullable})` : `{**given(${plain}), **set_or_null(${nullable})}`;
}

function listOf(args: readonly Argument[]): string {
  return args.map(({ name, sent }) => `${name}=${sent}`).join(', ');
}

function bodyArguments(document: OpenApi, { requestBody }: Operation): Argument[] {
  const schema = requestBody?.content?.[JSON_TYPE]?.schema;
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = withoutReference(document, schema);
  return Object.entries(properties).map(([name, of]) => {
    const isNullable = isNull(document, of);
    return argument(document, name, of, required.includes(name), isNullable ? 'null' : 'given');
  });
}

function pathArgument({ name, schema }: Parameter): Argument {
  const isWhole = schema.type === 'integer';
  const python = pythonName(name);
  return {
    name,
    declared: `${python}: ${isWhole ? 'int' : 'str'}`,
    sent: isWhole ? `int(${python})` : `segment(${python})`,
    kind: 'path',
    isRequired: true,
  };
}

function argument(
  document: OpenApi,
  name: string,
  schema: Schema,
  isRequired: boolean,
  kind: Argument['kind'],
): Argument {
  const python = pythonName(name);
  const [type, helper] = formOf(document, schema);
  const sent = helper === null ? python : `${helper}(${python})`;
  const isNullable = kind === 'null';
  const full = isNullable ? `${type} | None` : type;
  if (isRequired) return { name: python, declared: `${python}: ${full}`, sent, kind, isRequired };
  const declared = isNullable ? `${python}: ${full} | Unset = UNSET` : `${python}: ${full} | None = None`;
  return { name: python, declared, sent, kind, isRequired };
}

/** The type of an argument, and the code that turns it into the sent value. */
function formOf(document: OpenApi, given: Schema): readonly [string, string | null] {
  const schema = withoutReference(document, given);
  const { anyOf, enum: values, pattern, format } = schema;
  if (anyOf !== undefined) return formOf(document, anyOf.find((option) => option.type !== 'null')!);
  const words = values?.filter((value) => value !== null);
  if (words !== undefined)
    return [
      `Literal[${words.map((word) => (typeof word === 'string' ? `"${word}"` : String(word))).join(', ')}]`,
      null,
    ];
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'integer':
      return ['int', null];
    case 'number':
      return ['Decimal | int', 'as_number'];
    case 'boolean':
      return ['bool', null];
    case 'array':
      return [`Sequence[${plainOf(document, schema.items ?? {})}]`, 'as_list'];
    case 'object':
      return ['Mapping[str, Any]', null];
    default:
      break;
  }
  if (format === 'date-time' || format === 'date-time-or-utc') return ['datetime | str', 'as_time'];
  if (format === 'uint256' || format === 'amount') return ['int', 'as_units'];
  if (pattern === undefined) return ['str', null];
  const lets = (text: string): boolean => new RegExp(pattern, 'u').test(text);
  if (lets('12') && !lets('a') && !lets('1.5') && !lets('USD')) return ['int', 'as_units'];
  return lets('1.5') && !lets('a') ? ['Amount', 'as_decimal'] : ['str', null];
}

function plainOf(document: OpenApi, schema: Schema): string {
  const [type, helper] = formOf(document, schema);
  return helper === null ? type : helper === 'as_number' ? type : 'Any';
}

function isNull(document: OpenApi, given: Schema): boolean {
  const { type, anyOf } = withoutReference(document, given);
  return (Array.isArray(type) && type.includes('null')) || (anyOf?.some((option) => option.type === 'null') ?? false);
}

function describedIn(document: OpenApi, { requestBody }: Operation, parameters: readonly Parameter[]): string[] {
  const body = requestBody?.content?.[JSON_TYPE]?.schema;
  const { properties = {} } = body === undefined ? {} : withoutReference(document, body);
  const members = Object.entries(properties).map(([name, of]) => [name, of.description, of['x-unit']] as const);
  const inQuery = parameters
    .filter((row) => row.in === 'query')
    .map((row) => [row.name, row.description, row.schema['x-unit']] as const);
  return [...members, ...inQuery].flatMap(([name, description = '', unit]) => {
    const about = [description, unit === undefined ? '' : `Unit: ${unit}.`].filter((text) => text !== '').join(' ');
    return about === '' ? [] : [`\`${pythonName(name)}\`: ${about}`];
  });
}

function clientFile({ file, name, about, byHand }: Group, methods: readonly Method[]): string {
  const all = [...methods.map((method) => method.name), ...byHand];
  const classOf = (prefix: string, runs: string, make: string, how: string): string => {
    const rows = all.map((each) => `    ${each} = ${make}(${name}Logic.${each})`).join('\n');
    return `class ${prefix}${name}Methods(${runs}[${name}Logic]):\n    """${about}${how}"""\n\n${rows}\n`;
  };
  const imports = `from .drivers import AsyncRuns, Runs, awaited, blocking\nfrom .logic.${file} import ${name}Logic`;
  const classes = [classOf('', 'Runs', 'blocking', ''), classOf('Async', 'AsyncRuns', 'awaited', '')];
  return `"""${about}"""\n\n${HEAD}\n${imports}\n\n\n${classes.join('\n\n')}`;
}

function resolved(document: OpenApi, row: Parameter): Parameter {
  return row.$ref === undefined ? row : document.components.parameters[row.$ref.split('/').at(-1)!]!;
}

function withoutReference(document: OpenApi, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)!]!;
}

function pythonName(name: string): string {
  const python = snake(name);
  return PYTHON_WORDS.has(python) ? `${python}_` : python;
}
