/**
 * The rooms of the three wings, and the arrows between them. A room imports the rooms of its own wing that `own` names,
 * and the rooms of `shared/` that `shared` names. Rooms stand above those that they import, so the arrows form no
 * circle.
 */
export type Room = { readonly room: string; readonly own: string; readonly shared?: string };

export const ROOMS: readonly Room[] = [
  { room: 'shared/base', own: '' },
  { room: 'shared/api', own: 'base' },
  { room: 'shared/crypto', own: 'base' },
  { room: 'shared/tables', own: 'base' },
  { room: 'shared/wire', own: 'base' },
  { room: 'shared/records', own: 'base' },
  { room: 'shared/chain', own: 'base crypto records wire' },
  { room: 'shared/client', own: 'api base crypto wire' },
  { room: 'engine/base', own: '', shared: 'base crypto wire' },
  { room: 'engine/journal', own: '', shared: 'base crypto wire' },
  { room: 'engine/verify', own: '', shared: 'base crypto wire' },
  { room: 'engine/book', own: 'base', shared: 'base wire' },
  { room: 'engine/money', own: 'base book', shared: 'base wire' },
  { room: 'engine/output', own: 'base book money', shared: 'base wire' },
  { room: 'engine/core', own: 'base book journal money output verify', shared: 'base wire' },
  { room: 'engine/snapshot', own: 'base core journal verify', shared: 'base wire' },
  { room: 'engine/projector', own: 'journal snapshot', shared: 'base tables wire' },
  { room: 'engine/settlement', own: 'journal', shared: 'base chain crypto records wire' },
  { room: 'engine/replication', own: 'journal snapshot', shared: 'base crypto records wire' },
  { room: 'engine/backup', own: 'journal snapshot', shared: 'base crypto records wire' },
  {
    room: 'engine/admin',
    own: 'backup base book core journal projector replication settlement snapshot',
    shared: 'base chain crypto tables wire',
  },
  { room: 'engine/shard', own: 'base core journal snapshot verify', shared: 'base crypto wire' },
  { room: 'gateway/base', own: '', shared: 'api base client crypto records wire' },
  { room: 'gateway/access', own: 'base', shared: 'api base crypto records' },
  { room: 'gateway/http', own: 'access base', shared: 'api base crypto' },
  { room: 'gateway/shardlink', own: 'base http', shared: 'base crypto records wire' },
  { room: 'gateway/web', own: 'http', shared: 'api base client crypto' },
  { room: 'gateway/markets', own: 'base http shardlink', shared: 'api base chain crypto records tables wire' },
  { room: 'gateway/account', own: 'base http markets shardlink', shared: 'api base crypto records tables wire' },
  { room: 'gateway/chain', own: 'account base http markets shardlink', shared: 'api base chain crypto wire' },
  { room: 'gateway/fiat', own: 'account base http', shared: 'api base chain crypto records wire' },
  { room: 'gateway/trading', own: 'account base http markets shardlink', shared: 'api base records tables wire' },
  {
    room: 'gateway/operator',
    own: 'access account base chain http markets shardlink',
    shared: 'api base crypto records wire',
  },
  { room: 'gateway/stream', own: 'base http markets shardlink trading', shared: 'api base tables wire' },
  { room: 'gateway/programs', own: 'http stream', shared: 'base chain client crypto' },
  { room: 'gateway/front', own: 'access base http markets shardlink trading', shared: 'base crypto wire' },
  {
    room: 'gateway/wiring',
    own: 'access account base chain fiat front http markets operator shardlink stream trading web',
    shared: 'api base client crypto records wire',
  },
  { room: 'gateway', own: 'base wiring', shared: 'base' },
];
