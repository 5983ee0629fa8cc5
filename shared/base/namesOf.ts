/** The names of the members of an object whose type says all of them. */
export function namesOf<T extends object>(value: T): readonly (keyof T & string)[] {
  return Object.keys(value) as (keyof T & string)[];
}

/** An object with a member of each name. */
export function recordOf<N extends string, V>(names: readonly N[], make: (name: N, index: number) => V): Record<N, V> {
  return Object.fromEntries(names.map((name, index) => [name, make(name, index)])) as Record<N, V>;
}
