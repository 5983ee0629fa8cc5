/** The chapters of the interface: the paths of each, and its subject. */
type Tag = { readonly name: string; readonly title: string; readonly description: string; readonly paths: RegExp };

/** In the order in which a reader meets them; a path belongs to the first chapter that fits. */
const TAGS: readonly Tag[] = [
  tag(
    'prices',
    'Books and prices',
    'Books, best prices, tick sizes and fees.',
    /^\/v1\/(?:orders\/book|market-data)\//,
  ),
  tag(
    'orders',
    'Orders',
    'Placing, cancelling, amending and reading orders.',
    /^\/v1\/(?:orders|user\/order-groups)\b/,
  ),
  tag(
    'statistics',
    'Statistics',
    'The tape, the pulse of the exchange, the leaderboard, and files of every day.',
    /^\/v1\/(?:markets\/(?:fills|stats)\/|leaderboards\/|history\b)/,
  ),
  tag(
    'funds',
    'Funds and positions',
    'Balances, full sets, positions, claims, and what moved them.',
    /^\/v1\/(?:markets\/:id\/(?:split|merge)$|demo\/|user\/(?:balances|redeemable|po|st|fund-movements|rebates))/,
  ),
  tag('markets', 'Markets and events', 'The catalogue.', /^\/v1\/(?:markets|events|sports|onchain)\b/),
  tag('history', 'History', 'Orders, trades and activity of the account.', /^\/v1\/user\/(?:orders|trades|activity)\b/),
  tag('fiat', 'Paying in and out', 'Sessions with providers of fiat money.', /^\/v1\/(?:user\/)?fiat\b/),
  tag(
    'account',
    'Account',
    'Profile, limits, notifications and protection.',
    /^\/v1\/(?:user|notifications|rate-limits)\b/,
  ),
  tag(
    'sessions',
    'Sign-in and wallets',
    'Sessions of people, and the wallets of an account.',
    /^\/v1\/(?:auth|wallets)\b/,
  ),
  tag('admin-users', 'Administration: users', 'Users, keys, money and limits.', /^\/admin\/(?:users|api-keys)\b/),
  tag(
    'admin-markets',
    'Administration: markets',
    'Events, markets and what becomes of them.',
    /^\/admin\/(?:markets|events|catalogue)\b/,
  ),
  tag('admin', 'Administration: platform', 'The exchange as a whole, and those who run it.', /^\/admin\b/),
  tag('platform', 'Platform', 'Health, configuration, clock, and the documents of the interface.', /^/),
];

export function tagOf(path: string): string {
  return TAGS.find(({ paths }) => paths.test(path))!.name;
}

/** Returns the tags for a document with operations of these paths. */
export function tagsOf(paths: readonly string[]): readonly object[] {
  const used = new Set(paths.map(tagOf));
  return TAGS.filter(({ name }) => used.has(name)).map(({ name, title, description }) => {
    return { name, description, 'x-displayName': title };
  });
}

function tag(name: string, title: string, description: string, paths: RegExp): Tag {
  return { name, title, description, paths };
}
