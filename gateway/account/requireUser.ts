/** The user named in the path of an administrator's route. */
import { ERRORS } from '../../shared/base/errors.ts';
import type { Call } from '../http/call.ts';
import { refuse } from '../http/respond.ts';
import type { Accounts, User } from './accounts.ts';

type UserCall = Call & { readonly params: { readonly id: string } };

/** The user named in the path, or null if the call was answered 404. */
export function requireUser(call: UserCall, accounts: Accounts): User | null {
  const user = accounts.byId(call.params.id);
  if (user !== undefined) return user;
  refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'user not found' });
  return null;
}
