/** Public profiles: the name and picture that an account shows (RULES.md 13.3). */
import { PUBLIC_PROFILE, PUBLIC_PROFILE_BODY } from '../../shared/api/statistics.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { PublicProfile, PublicProfiles } from './publicProfiles.ts';

type ProfileDeps = { readonly profiles: PublicProfiles };

const PATH = '/v1/user/public-profile';

const SHOW_PROFILE = {
  method: 'GET',
  path: PATH,
  id: 'getPublicProfile',
  summary: 'How the account is shown to the public; without a handle it never asked to be.',
  access: 'read:account',
  answers: { 200: PUBLIC_PROFILE },
} as const satisfies RouteSpec;

const SET_PROFILE = {
  method: 'PUT',
  path: PATH,
  id: 'setPublicProfile',
  summary: 'Sets the handle and the picture of the account, and whether the public sees them.',
  access: 'manage:account',
  storing: true,
  body: PUBLIC_PROFILE_BODY,
  answers: { 200: PUBLIC_PROFILE },
  errors: ['CONFLICT'],
} as const satisfies RouteSpec;

export function publicProfileRoutes(deps: ProfileDeps): Route[] {
  return [
    route(SHOW_PROFILE, (call) => ok(call, profileJson(deps.profiles.of(call.principal.accountIndex)))),
    route(SET_PROFILE, (call) => setProfile(call, deps)),
  ];
}

async function setProfile(call: CallOf<typeof SET_PROFILE>, { profiles }: ProfileDeps): Promise<void> {
  const { handle, avatar_url = null, is_public: isPublic } = call.body;
  const account = call.principal.accountIndex;
  if (!profiles.isFree(handle, account)) return refuse(call, { row: ERRORS.CONFLICT, message: 'handle is taken' });
  const profile = { handle, avatarUrl: avatar_url, isPublic };
  profiles.set(account, profile);
  await profiles.durable();
  ok(call, profileJson(profile));
}

function profileJson(profile: PublicProfile | null): object {
  if (profile === null) return { handle: null, avatar_url: null, is_public: false };
  const { handle, avatarUrl, isPublic } = profile;
  return { handle, avatar_url: avatarUrl, is_public: isPublic };
}
