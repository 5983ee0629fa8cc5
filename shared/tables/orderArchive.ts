/**
 * The archive of orders: those that never filled leave `orders` some days after their end for files that are not
 * changed any more, in a folder beside read.db. These tables are their manifest. The hashes of archived orders stay in
 * order_hashes, so a hash leads to an id, and the id to a file.
 *
 * A file is a SQLite database with the last two tables below: its orders by account and id, in blocks. Its name has its
 * number and the SHA-256 of its bytes. The first files had the table `orders` instead, in the form it has in read.db.
 */
import { join } from 'node:path';
import { FILE_LAYOUTS } from '../base/formats.ts';
import { BLOB, BLOB_KEY, column, INTEGER, INTEGER_KEY, NULLABLE_INTEGER, table } from './table.ts';

/** The files, by number. */
export const ARCHIVED_FILES = table(
  'archived_files',
  {
    file: INTEGER_KEY,
    /** In hex. */
    sha256: column<string>('TEXT NOT NULL'),
    orders: INTEGER,
    /** The ids of its orders are in this span. */
    first_id: BLOB,
    last_id: BLOB,
    /** The account and id, in this order, up to which its orders have left `orders`; null once all have. */
    left_account: NULLABLE_INTEGER,
    left_id: BLOB,
  },
  { indexes: ['INDEX archived_files_ids ON archived_files (first_id, last_id)'] },
);

/**
 * The orders of an account that have left `orders` for a file: those up to `last_id` there. So each order is found in
 * exactly one of the two, also while a file's orders leave in small steps.
 */
export const ARCHIVED_ACCOUNTS = table(
  'archived_accounts',
  {
    account: INTEGER,
    file: INTEGER,
    /** The number of them by their status; an order that never filled has no other. */
    cancelled: INTEGER,
    expired: INTEGER,
    first_id: BLOB,
    last_id: BLOB,
    /** The latest end of one of them. */
    last_ms: INTEGER,
  },
  { primaryKey: 'account, file', withoutRowid: true },
);

/** Orders that had not ended, or not long ago, when the orders placed with them were archived. */
export const ARCHIVE_LATE = table('archive_late', { id: BLOB_KEY, ended_ms: INTEGER }, { withoutRowid: true });

/** One row, from the first file on: the id up to which all orders were archived, left to archive_late or had fills. */
export const ARCHIVE_CURSOR = table('archive_cursor', { one: INTEGER_KEY, through_id: BLOB });

/** In a file. The markets are those of its orders (orderBlocks.ts). */
export const ORDER_BLOCKS = table(
  'blocks',
  {
    block: INTEGER_KEY,
    first_account: INTEGER,
    first_id: BLOB,
    last_account: INTEGER,
    last_id: BLOB,
    /** The latest end of one of its orders. */
    last_ms: INTEGER,
    markets: BLOB,
    data: BLOB,
  },
  {
    indexes: [
      'INDEX blocks_of_accounts ON blocks (last_account, block, first_account, first_id, last_id, last_ms, markets)',
    ],
  },
);
/** In a file: the last two bytes of the id of each order of a block, so that an id is searched in few of them. */
export const BLOCK_IDS = table('block_ids', { block: INTEGER_KEY, ends: BLOB });
export const ID_END_BYTES = 2;

/** The form of the files, by user_version: a change of the columns or indexes of `orders` is another. */
export const ARCHIVE_LAYOUT = FILE_LAYOUTS.archive;
/** Files without blocks. */
export const WHOLE_LAYOUT = 1;

const FILE_NAME = /^orders-(\d{6,})-([0-9a-f]{64})\.db$/;
/** The orders of the next file, and the file that is being made of them. */
export const PART_NAME = 'orders.part';
export const PACKED_NAME = 'orders.packed';

type NamedFile = { readonly file: number; readonly sha256: string };

/** @param readDbPath the path of read.db */
export function archiveFolder(readDbPath: string): string {
  return join(readDbPath, '..', 'archive');
}

export function archiveFileName({ file, sha256 }: NamedFile): string {
  return `orders-${String(file).padStart(6, '0')}-${sha256}.db`;
}

/** Null for the name of anything else. */
export function readArchiveFileName(name: string): NamedFile | null {
  const [, file, sha256] = FILE_NAME.exec(name) ?? [];
  return file === undefined ? null : { file: Number(file), sha256 };
}
