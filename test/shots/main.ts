/**
 * `npm run shots`: pictures of every view at each width, light and dark, in the folder `shots`, which git ignores, with
 * a page to look at them one by one. It says which differ from the accepted ones, what is cut off, also at 200 %, and
 * what moves for a person who wants no motion.
 *
 *   npm run shots -- home ops            only views whose names have one of these words
 *   npm run shots -- --accept            once they were looked at: what the views are from now on (test/shots/accepted)
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../support/server.ts';
import { accept, acceptedOf, changesOf } from './accepted.ts';
import type { Print } from './studio.ts';
import { NO_STUDIO, type Sitter, Studio } from './studio.ts';
import { HEIGHTS, SCHEMES, VIEWS, type Width } from './views.ts';
import { makeWorld } from './world.ts';

const FOLDER = join(ROOT, 'shots');

const { values, positionals } = parseArgs({
  options: { accept: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const views = VIEWS.filter(({ name }) => positionals.length === 0 || positionals.some((word) => name.includes(word)));
if (NO_STUDIO !== false || views.length === 0) {
  console.error(NO_STUDIO || `no view has one of these words; there are ${VIEWS.map(({ name }) => name).join(', ')}`);
  process.exit(1);
}
const cleanUps: (() => void | Promise<void>)[] = [];
const scope = { after: (cleanUp: () => void | Promise<void>) => void cleanUps.push(cleanUp) };
const files: string[] = [];
try {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  const studio = await Studio.open(scope, await makeWorld(scope));
  for (const view of views) {
    const sitter = await studio.show(view);
    for (const line of [
      ...(await sitter.shifts()).moved.map((shift) => `moved while it loaded: ${shift}`),
      ...(await look(sitter)),
    ]) {
      console.log(`${view.name}: ${line}`);
    }
  }
  writeFileSync(join(FOLDER, 'index.html'), page(files));
  const done = values.accept ? `${views.length} views are accepted` : `${files.length} pictures: shots/index.html`;
  console.log(`${done}. Letters are those of Liberation Sans and Mono.`);
} finally {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
}

/** Takes the pictures. @returns what a person should look at */
async function look(sitter: Sitter): Promise<string[]> {
  const { view, page } = sitter;
  const found: string[] = [];
  let hasChanged = false;
  const prints = new Map<Width, Print>();
  const accepted = acceptedOf(view);
  for (const width of sitter.widths) {
    const print = await sitter.print(width);
    prints.set(width, print);
    const changes = changesOf(view, accepted?.get(width), print).map((change) => `at ${width} ${change}`);
    hasChanged ||= changes.length > 0;
    if (!values.accept) found.push(...changes);
    for (const scheme of values.accept ? [] : SCHEMES) {
      await sitter.turn(width, scheme);
      const file = `${view.name.replaceAll(' ', '-')}-${width}-${scheme}.png`;
      await page.screenshot({ path: join(FOLDER, file), fullPage: true });
      files.push(file);
    }
    found.push(...(await sitter.cutOff()).map((what) => `at ${width} ${what}`));
    await sitter.zoom(width);
    found.push(...(await sitter.cutOff()).map((what) => `at 200 % of ${width / 2} x ${HEIGHTS[width] / 2} ${what}`));
  }
  found.push(...(await sitter.moving()));
  // Within the tolerance the accepted one stays: its file would change with every run.
  if (values.accept && hasChanged) accept(view, prints);
  return found;
}

function page(names: readonly string[]): string {
  const figures = names.map(
    (name) => `<figure><img src="${name}" loading="lazy"><figcaption>${name}</figcaption></figure>`,
  );
  return `<!doctype html><meta charset="utf-8"><title>Views</title>
<style>figure{margin:0 0 3rem}img{max-width:100%;border:1px solid #888}</style>${figures.join('\n')}\n`;
}
