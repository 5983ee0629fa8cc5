/**
 * Objects in a log of Node, Bun or Deno show what a person would ask of them, and nothing that is secret. The symbol is
 * one that any runtime may ask for, so no module of Node is needed.
 */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never;

/** Arguments of the method of that name. */
export type Inspecting = [depth: number, options: object, inspect: (value: unknown, options: object) => string];

/** @param name of the class, before its members */
export function shown(name: string, members: object, [, options, inspect]: Inspecting): string {
  return `${name} ${inspect(members, options)}`;
}
