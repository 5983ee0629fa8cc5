/**
 * The classes of answers of the Python client, from the document of the interface (`/openapi.json`): a frozen dataclass
 * for each object, with exact types. Decimal texts of units are `int`, of prices and USDC `Decimal`, and times are
 * `datetime`; no member is a float.
 */
import { MEMBER_NAMES, PYTHON_WORDS, SECOND_FORMS } from './names.ts';

export type Schema = {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly 'x-unit'?: string;
};
type Answer = { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> };
export type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly $ref?: string;
};
export type Operation = {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Answer & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Answer & { readonly $ref?: string }>>;
};
export type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
  };
};

const HEAD = '# Made from /openapi.json by `npm run docs`: a change here is lost.';
/** Prefix of the name of a part of answers; a file has parts before the classes that use them. */
const PART = 'part ';
const JSON_TYPE = 'application/json';
const WIDTH = 120;
const INDENT = '    ';

/** By file: each route with the name of its answer's class. */
export type Answers = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The files of the package `models`, by name. */
export function modelFiles(document: OpenApi, answers: Answers): Map<string, string> {
  const writer = new ModelWriter(document);
  const files = new Map<string, string>();
  for (const [file, of] of Object.entries(answers)) files.set(`${file}.py`, writer.file(file, of));
  files.set('__init__.py', indexOf(writer.names));
  return files;
}

function indexOf(names: ReadonlyMap<string, readonly string[]>): string {
  const imports = [...names].map(([file, of]) => {
    return `from .${file} import (\n${of.map((name) => `${INDENT}${name},\n`).join('')})`;
  });
  const all = [...names.values()].flat().sort();
  const exported = `__all__ = (\n${rowsOf(all.map((name) => `"${name}"`))})`;
  return `"""The answers of the exchange as dataclasses."""\n\n${HEAD}\n${imports.join('\n')}\n\n${exported}\n`;
}

/** Fits as many names into a line as there is space for. */
function rowsOf(names: readonly string[]): string {
  const rows = [''];
  for (const name of names) {
    if (`${INDENT}${rows.at(-1)} ${name},`.length > WIDTH) rows.push('');
    rows.push(`${rows.pop()} ${name},`.trimStart());
  }
  return rows.map((row) => `${INDENT}${row}\n`).join('');
}

class ModelWriter {
  readonly #document: OpenApi;
  /** Every class and alias, with the file it is in. */
  readonly #made = new Map<string, string>();
  /** Objects of the same form are one class, in however many answers they occur. */
  readonly #byShape = new Map<string, string>();
  /** Names by file, in their order in the file. */
  readonly names = new Map<string, string[]>();
  #file = '';
  #blocks: string[] = [];
  #borrowed = new Map<string, Set<string>>();

  constructor(document: OpenApi) {
    this.#document = document;
  }

  file(file: string, answers: Readonly<Record<string, string>>): string {
    this.#file = file;
    this.#blocks = [];
    this.#borrowed = new Map();
    this.names.set(file, []);
    for (const [route, name] of Object.entries(answers)) this.#answer(route, name);
    const text = this.#blocks.join('\n\n\n');
    const standard = [
      ['from dataclasses import dataclass', /@dataclass/],
      ['from datetime import datetime', /\bdatetime\b/],
      ['from decimal import Decimal', /\bDecimal\b/],
    ] as const;
    const lines: string[] = standard.filter(([, use]) => use.test(text)).map(([line]) => line);
    const typing = ['Any', 'Literal', 'Tuple', 'Union'].filter((name) => new RegExp(`\\b${name}\\b`).test(text));
    if (typing.length > 0) lines.push(`from typing import ${typing.join(', ')}`);
    const borrowed = [...this.#borrowed].map(([from, names]) => `from .${from} import ${[...names].sort().join(', ')}`);
    const groups = [lines, borrowed.sort()].filter((group) => group.length > 0).map((group) => group.join('\n'));
    return `${HEAD}\nfrom __future__ import annotations\n\n${groups.join('\n\n')}\n\n\n${text}\n`;
  }

  #answer(key: string, name: string): void {
    if (key.startsWith(PART)) {
      this.#type({ $ref: key.slice(PART.length) }, name);
      return;
    }
    const [route, choice = '0'] = key.split('#') as [string, string?];
    const [method, path] = route.split(' ') as [string, string];
    const operation = this.#document.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`the interface has no ${route}`);
    const statuses = Object.keys(operation.responses).filter((status) => status.startsWith('2'));
    const status = statuses.includes(choice) ? choice : statuses[0]!;
    const schema = operation.responses[status]!.content![JSON_TYPE]!.schema;
    const form = this.#resolved(schema).anyOf?.[Number(choice)] ?? schema;
    const python = this.#type(form, name, operation.summary);
    if (python === name) return;
    // A list, or an answer that is declared under another name.
    this.#made.set(name, this.#file);
    this.#write(name, `${name} = ${python.replace(/^tuple\[/, 'Tuple[')}`);
  }

  #type(schema: Schema, name: string, about = schema.description ?? ''): string {
    if (schema.$ref !== undefined) return this.#type(this.#resolved(schema), nameOf(schema.$ref), about);
    if (schema.anyOf !== undefined) return this.#union(schema.anyOf, name, about);
    if ('const' in schema) return `Literal[${literal(schema.const)}]`;
    if (schema.enum !== undefined) return `Literal[${schema.enum.map(literal).join(', ')}]`;
    if (Array.isArray(schema.type))
      return this.#union(
        schema.type.map((type: string) => ({ ...schema, type })),
        name,
        about,
      );
    switch (schema.type) {
      case 'string':
        return textType(schema);
      case 'integer':
        return 'int';
      case 'number':
        return 'Decimal';
      case 'boolean':
        return 'bool';
      case 'null':
        return 'None';
      case 'array':
        return `tuple[${this.#type(schema.items ?? {}, singular(name))}, ...]`;
      case 'object':
        return this.#object(schema, name, about);
      default:
        return 'Any';
    }
  }

  #resolved(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : this.#document.components.schemas[nameOf(schema.$ref)]!;
  }

  #union(options: readonly Schema[], name: string, about: string): string {
    return [...new Set(options.map((option) => this.#type(option, name, about)))].join(' | ');
  }

  #object(schema: Schema, name: string, about: string): string {
    const { properties, additionalProperties } = schema;
    if (properties === undefined) {
      const values =
        typeof additionalProperties === 'object' ? this.#type(additionalProperties, singular(name)) : 'Any';
      return `dict[str, ${values}]`;
    }
    const members = Object.entries(properties);
    if (!members.every(([member]) => /^[A-Za-z_]\w*$/.test(member))) {
      const values = new Set(members.map(([member, of]) => this.#type(of, name + pascal(member))));
      return `dict[str, ${[...values].join(' | ')}]`;
    }
    const shape = JSON.stringify(schema);
    const same = this.#byShape.get(shape);
    if (same !== undefined) return this.#lent(same);
    const free = this.#freeName(name);
    // The name is taken before the members are written, which may be alike.
    this.#made.set(free, this.#file);
    this.#byShape.set(shape, free);
    const rows = members.map(([member, of]) => this.#member(member, of, free, schema.required ?? []));
    const heading = about === '' ? `A part of an answer: ${free}.` : about;
    this.#write(
      free,
      `@dataclass(frozen=True, kw_only=True)\nclass ${free}:\n${docstring(heading)}\n\n${rows.join('\n')}`,
    );
    return free;
  }

  #freeName(name: string): string {
    for (let count = 1; ; count++) {
      const free = count === 1 ? name : (SECOND_FORMS[name] ?? `${name}${count}`);
      if (!this.#made.has(free)) return free;
    }
  }

  /** The name of a class that is written already, which another file imports. */
  #lent(name: string): string {
    const file = this.#made.get(name)!;
    if (file !== this.#file) this.#borrowed.set(file, (this.#borrowed.get(file) ?? new Set<string>()).add(name));
    return name;
  }

  #member(member: string, schema: Schema, owner: string, required: readonly string[]): string {
    const type = this.#type(schema, MEMBER_NAMES[`${owner}.${member}`] ?? owner + pascal(member));
    const isGiven = required.includes(member);
    const python = isGiven || /(?:^|\| )(?:None|Any)$/.test(type) ? type : `${type} | None`;
    const name = PYTHON_WORDS.has(member) ? `${member}_` : member;
    const unit = schema['x-unit'];
    const description = schema.description ?? (schema.format === 'date-time' ? 'UTC.' : '');
    const about = [description, unit === undefined ? '' : `Unit: ${unit}.`].filter((text) => text !== '').join(' ');
    const row = wrapped(`${INDENT}${name}: ${python}${isGiven ? '' : ' = None'}`);
    return about === '' ? row : `${row}\n${docstring(about)}`;
  }

  #write(name: string, block: string): void {
    this.names.get(this.#file)!.push(name);
    this.#blocks.push(block);
  }
}

function nameOf(reference: string): string {
  return reference.split('/').at(-1)!;
}

/** Decides by the texts that the pattern admits: whole numbers, decimals, or anything else. */
function textType({ format, pattern }: Schema): string {
  if (format === 'date-time') return 'datetime';
  if (format === 'uint256' || format === 'amount') return 'int';
  if (pattern === undefined) return 'str';
  const lets = (text: string): boolean => new RegExp(pattern, 'u').test(text);
  if (lets('a') || lets('0x1b')) return 'str';
  if (['1.5', '1.50', '1.500000', '1.50000000'].some(lets)) return 'Decimal';
  return lets('1') ? 'int' : 'str';
}

function literal(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

function pascal(member: string): string {
  return member.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function singular(name: string): string {
  if (name.endsWith('ies')) return `${name.slice(0, -3)}y`;
  return name.endsWith('s') ? name.slice(0, -1) : `${name}Item`;
}

/** A field that is too wide for a line, as black writes it. */
function wrapped(row: string): string {
  if (row.length <= WIDTH) return row;
  const [, head, values, end] = /^(.*?Literal\[)(.*?)(\].*)$/.exec(row)!;
  const one = `${INDENT.repeat(2)}${values}`;
  const inner =
    one.length <= WIDTH
      ? one
      : values!
          .split(', ')
          .map((value) => `${INDENT.repeat(2)}${value},`)
          .join('\n');
  return `${head}\n${inner}\n${INDENT}${end}`;
}

/** Formatted as by black: on one line if it fits, otherwise wrapped. */
function docstring(text: string): string {
  const clean = text.replaceAll('\\', '\\\\');
  const line = `${INDENT}"""${clean}"""`;
  if (line.length <= WIDTH) return line;
  const rows: string[] = [];
  let row = `${INDENT}"""`;
  for (const word of clean.split(' ')) {
    if (`${row} ${word}`.length > WIDTH) {
      rows.push(row);
      row = `${INDENT}${word}`;
    } else {
      row += row.endsWith('"""') ? word : ` ${word}`;
    }
  }
  return [...rows, row, `${INDENT}"""`].join('\n');
}
