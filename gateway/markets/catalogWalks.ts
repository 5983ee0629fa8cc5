/**
 * The SQL of a page of a list: one index scan for each group of rows that the list includes, merged in the order of the
 * list. A row belongs to one group; a list of several groups costs one comparison per row, and no sort.
 */

export type WalkedTable = {
  readonly name: string;
  /** The primary key, in which rows come in the order of their creation. */
  readonly id: string;
  /** The column of the groups. Every sort order has an index by group, and one by category and group. */
  readonly group: string;
};

export type Walk = {
  readonly groups: number;
  /** The columns of the sort order; empty for order of creation. */
  readonly keys: readonly string[];
  readonly descending: boolean;
  readonly hasCategory: boolean;
  /** True for only rows created before @before. */
  readonly hasBefore: boolean;
};

/** Parameters: @group0 …, @category, @before, @limit, @offset. The first column is the primary key. */
export function walkSql({ name, id, group }: WalkedTable, walk: Walk): string {
  const columns = [id, ...walk.keys].join(', ');
  const conditions = [
    ...(walk.hasCategory ? ['AND category = @category'] : []),
    ...(walk.hasBefore ? [`AND ${id} < @before`] : []),
  ].join(' ');
  const walks = Array.from(
    { length: walk.groups },
    (_, index) => `SELECT ${columns} FROM ${name} WHERE ${group} = @group${index} ${conditions}`,
  );
  const order = walk.keys.length === 0 ? [id] : walk.keys;
  return `${walks.join(' UNION ALL ')} ORDER BY ${directed(order, walk.descending)} LIMIT @limit OFFSET @offset`;
}

export function directed(columns: readonly string[], descending: boolean): string {
  return columns.map((column) => `${column} ${descending ? 'DESC' : 'ASC'}`).join(', ');
}
