/**
 * The rooms of the three wings, and the arrows between them. A room imports the rooms of its own wing that `own` names,
 * and those of `shared/` that `shared` names. Rooms stand above those they import, so the arrows form no circle.
 */
export type Room = { readonly room: string; readonly own: string; readonly shared?: string };

export const ROOMS: readonly Room[] = [
  { room: 'shared/base', own: '' },
  { room: 'shared/api', own: 'base' },
  { room: 'shared/crypto', own: 'base' },
  { room: 'shared/tables', own: 'base' },
  { room: 'shared/wire', own: 'base' },
  { room: 'shared/client', own: 'api base crypto' },
  { room: 'engine/base', own: '', shared: 'base crypto wire' },
  { room: 'engine/journal', own: '', shared: 'base crypto wire' },
  { room: 'engine/verify', own: '', shared: 'base crypto wire' },
  { room: 'engine/book', own: 'base', shared: 'base wire' },
  { room: 'engine/projector', own: 'journal', shared: 'base tables wire' },
  { room: 'engine/money', own: 'base book', shared: 'base wire' },
  { room: 'engine/output', own: 'base book money', shared: 'base wire' },
  { room: 'engine/core', own: 'base book journal money output verify', shared: 'base crypto wire' },
  { room: 'engine/snapshot', own: 'base core journal verify', shared: 'base crypto wire' },
  { room: 'engine/admin', own: 'base book core journal snapshot', shared: 'base crypto wire' },
  { room: 'engine/shard', own: 'base core journal snapshot verify', shared: 'base crypto wire' },
  { room: 'gateway/process', own: '', shared: 'base crypto wire' },
  { room: 'gateway/queries', own: '', shared: 'base tables wire' },
  { room: 'gateway/views', own: '', shared: 'base wire' },
  { room: 'gateway/limits', own: 'process', shared: 'api base' },
  { room: 'gateway/access', own: 'limits', shared: 'api base crypto' },
  { room: 'gateway/http', own: 'access limits process', shared: 'api base crypto' },
  { room: 'gateway/store', own: 'access limits process', shared: 'api base crypto' },
  { room: 'gateway/audit', own: 'access http process', shared: 'base crypto' },
  { room: 'gateway/idempotency', own: 'access http process queries', shared: 'base wire' },
  { room: 'gateway/shardlink', own: 'http store views', shared: 'base wire' },
  { room: 'gateway/trading', own: 'access http limits process queries shardlink store views', shared: 'api base wire' },
  {
    room: 'gateway/operator',
    own: 'access http limits process shardlink store trading views',
    shared: 'api base crypto wire',
  },
  { room: 'gateway/stream', own: 'access http process queries shardlink store trading views', shared: 'api base wire' },
  { room: 'gateway/replay', own: 'stream', shared: 'base client' },
  {
    room: 'gateway/routes',
    own: 'access audit http limits operator process queries shardlink store stream trading views',
    shared: 'api base crypto wire',
  },
  {
    room: 'gateway/wiring',
    own: 'access audit http idempotency limits operator process queries routes shardlink store stream trading views',
    shared: 'api base client crypto wire',
  },
  { room: 'gateway', own: 'process wiring', shared: 'base' },
];
