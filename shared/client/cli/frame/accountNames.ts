/** Finds accounts by a name, a wallet or the beginning of an id. Nothing is guessed. */
import type { AdminClient } from '../../admin.ts';
import { UsageError } from './errors.ts';
import { ID_FORM, PREFIX_FORM } from './marketNames.ts';
import { printable } from './text.ts';

const WALLET_FORM = /^0x[0-9a-f]{40}$/i;
const PAGE = 1000;
/** The number of accounts that are searched; if there are more, name the account by its wallet or id. */
const MOST = 10_000;
const SHOWN = 8;

/** The description that every command has for its account. */
export const ACCOUNT_WORDS = 'the account: its name, a wallet of it, or its id';

export async function accountIdOf(admin: AdminClient, given: string): Promise<string> {
  const wanted = given.trim().toLowerCase();
  if (ID_FORM.test(wanted)) return given;
  const found = WALLET_FORM.test(wanted)
    ? (await admin.listUsers({ wallet: given.trim() })).users
    : await lookedThrough(admin, wanted);
  const [only, ...others] = found;
  if (only === undefined) {
    throw new UsageError(`no account is called ${printable(given)}; \`pmx admin accounts list\` shows them`);
  }
  if (others.length === 0) return only.id;
  const shown = found.slice(0, SHOWN).map(({ id, display_name: name }) => `\n  ${id}  ${printable(name ?? '')}`);
  throw new UsageError(`${printable(given)} may be one of these; give a wallet or an id:${shown.join('')}`);
}

type Found = { readonly id: string; readonly display_name: string | null };

async function lookedThrough(admin: AdminClient, wanted: string): Promise<readonly Found[]> {
  const isPrefix = PREFIX_FORM.test(wanted);
  const found: Found[] = [];
  let cursor: number | null = null;
  for (let seen = 0; seen < MOST; seen += PAGE) {
    const page = await admin.listUsers({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    found.push(
      ...page.users.filter(
        ({ id, display_name: name }) => name?.toLowerCase() === wanted || (isPrefix && id.startsWith(wanted)),
      ),
    );
    cursor = page.next_cursor;
    if (cursor === null) return found;
  }
  throw new UsageError(`there are more than ${MOST} accounts: give a wallet or an id`);
}
