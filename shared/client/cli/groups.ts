/** All commands, in the order of the help. Another group is a file in `commands/` and a row here. */
import { aboutProgram } from './commands/about.ts';
import { ACCOUNT, NOTIFICATIONS } from './commands/account.ts';
import { ADMIN_ACCOUNTS } from './commands/adminAccounts.ts';
import { ADMIN_FIAT } from './commands/adminFiat.ts';
import { ADMIN_MARKETS } from './commands/adminMarkets.ts';
import { ADMIN_PLATFORM } from './commands/adminPlatform.ts';
import { ADMIN_SETTLEMENT } from './commands/adminSettlement.ts';
import { BOOK } from './commands/book.ts';
import { BUYING } from './commands/buying.ts';
import { DOCTOR } from './commands/doctor.ts';
import { FIAT } from './commands/fiat.ts';
import { REMINDERS, TIMEOUTS } from './commands/gaming.ts';
import { HISTORY } from './commands/history.ts';
import { KEYS } from './commands/keys.ts';
import { EVENTS, MARKETS } from './commands/markets.ts';
import { ORDER_GROUPS, ORDERS } from './commands/orders.ts';
import { PLACING } from './commands/placing.ts';
import { RECORD } from './commands/record.ts';
import { PROFILES, SESSIONS, SIGN_IN } from './commands/signIn.ts';
import { TAIL } from './commands/tail.ts';
import { WALLETS } from './commands/wallets.ts';
import { WATCH } from './commands/watch.ts';
import type { CommandGroup } from './frame/command.ts';

export const GROUPS: readonly CommandGroup[] = [
  { word: null, title: 'Signing in', commands: [...SIGN_IN, ...DOCTOR] },
  { word: 'profile', title: 'Profiles', commands: PROFILES },
  { word: 'sessions', title: 'Sessions', commands: SESSIONS },
  { word: 'markets', title: 'Markets', commands: MARKETS },
  { word: 'events', title: 'Events', commands: EVENTS },
  { word: null, title: 'Market data', commands: [...BOOK, ...TAIL, ...WATCH, ...RECORD] },
  { word: 'history', title: 'History', commands: HISTORY },
  { word: null, title: 'Trading', commands: [...BUYING, ...PLACING, ...ORDERS] },
  { word: 'groups', title: 'Order groups', commands: ORDER_GROUPS },
  { word: null, title: 'Account', commands: ACCOUNT },
  { word: 'notifications', title: 'Notifications', commands: NOTIFICATIONS },
  { word: 'fiat', title: 'Cashing in and out', commands: FIAT },
  { word: 'wallet', title: 'Wallets', commands: WALLETS },
  { word: 'timeout', title: 'Breaks from trading', commands: TIMEOUTS },
  { word: 'reminders', title: 'Reminders', commands: REMINDERS },
  { word: 'keys', title: 'API keys', commands: KEYS },
  {
    word: 'admin',
    title: 'Operators',
    note:
      'These go over HTTP to a running exchange. For the files of one there is `npm run admin`, in an installed ' +
      'package `open-prediction-exchange admin`.',
    commands: [...ADMIN_PLATFORM, ...ADMIN_SETTLEMENT, ...ADMIN_FIAT, ...ADMIN_MARKETS, ...ADMIN_ACCOUNTS],
  },
  { word: null, title: 'This program', commands: aboutProgram(() => GROUPS) },
];
