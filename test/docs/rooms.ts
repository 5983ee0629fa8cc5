/** shared/ROOMS.md: the rooms of the three wings, and the arrows between them as the tidy tests have them. */
import { readFileSync } from 'node:fs';
import { ROOMS, type Room } from '../unit/tidy/rooms.ts';

export const ROOMS_PAGE = new URL('../../shared/ROOMS.md', import.meta.url);

const WINGS = [
  ['gateway', 'everything between the sockets and the rings of the shards'],
  ['engine', 'the exchange itself: books, orders, money, journals'],
  ['shared', 'whatever both agree on; it imports neither'],
] as const;

const HEAD = `# Rooms

Which folders there are, and which of them may import which. \`npm run docs\` writes this page: the arrows are those of
\`test/unit/tidy/rooms.ts\`, which a test compares with the imports of every file; the sentences are those of the
README of each wing. A room imports only rooms below it. The pictures leave out an arrow where a longer way leads to the
same room; the tables have all of them, and the rooms of \`shared/\` that a room imports.
`;

export function roomsPage(): string {
  return [HEAD, ...WINGS.map(([wing, about]) => wingOf(wing, about))].join('\n');
}

function wingOf(wing: string, about: string): string {
  const rooms = ROOMS.filter(({ room }) => room.startsWith(`${wing}/`)).toReversed();
  const duties = dutiesIn(wing);
  const arrows = rooms.reduce((sum, { own }) => sum + split(own).length, 0);
  const rows = rooms.map(({ room, own, shared }) => {
    const others = wing === 'shared' ? [] : split(shared).map((name) => `shared/${name}`);
    const imports = [...split(own), ...others].map((name) => `\`${name}\``).join(', ');
    const contents = duties.get(nameOf(room))?.replaceAll('`', '') ?? '';
    return `| **${nameOf(room)}** | ${contents} | ${imports === '' ? '–' : imports} |`;
  });
  const readme = wing === 'shared' ? 'README.md' : `../${wing}/README.md`;
  return `## ${wing}/

The wing is ${about} ([README](${readme})): ${rooms.length} rooms, ${arrows} arrows.

\`\`\`mermaid
flowchart TD
${rooms.flatMap((room) => arrowsOf(room, rooms)).join('\n')}
\`\`\`

| room | contents | may import |
|---|---|---|
${rows.join('\n')}
`;
}

/** The arrows of a room that no longer way stands for; a room without any is drawn alone. */
function arrowsOf({ room, own }: Room, rooms: readonly Room[]): string[] {
  const direct = split(own);
  const indirect = new Set(direct.flatMap((name) => [...below(name, rooms)]));
  const drawn = direct.filter((name) => !indirect.has(name)).map((name) => `  ${nameOf(room)} --> ${name}`);
  return drawn.length === 0 ? [`  ${nameOf(room)}`] : drawn;
}

function below(name: string, rooms: readonly Room[]): Set<string> {
  const own = split(rooms.find(({ room }) => nameOf(room) === name)?.own);
  return new Set(own.flatMap((next) => [next, ...below(next, rooms)]));
}

/** The sentence of each room in the tables of the wing's README. */
function dutiesIn(wing: string): Map<string, string> {
  const readme = readFileSync(new URL(`../../${wing}/README.md`, import.meta.url), 'utf8');
  const duties = new Map<string, string>();
  for (const [, names, duty] of readme.matchAll(/^\| ((?:`\w+\/`(?:, )?)+) \| ([^|]+) \|/gm)) {
    for (const [, name] of names!.matchAll(/`(\w+)\/`/g)) duties.set(name!, duty!);
  }
  return duties;
}

function nameOf(room: string): string {
  return room.split('/')[1]!;
}

function split(names: string | undefined): string[] {
  return (names ?? '').split(' ').filter((name) => name !== '');
}
