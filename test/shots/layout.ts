/**
 * The boxes of a view: where its landmarks and components are, how large they are, and what is cut off. They are read
 * in the page, kept as text, and compared with a tolerance.
 */
import type { Page } from 'playwright-core';

/** "section.panel 8 420 344 210": the element, and left, top, width and height in CSS pixels. */
export type Box = readonly [name: string, x: number, y: number, width: number, height: number];

const READ = `[...document.querySelectorAll(
  'header, nav, main, h1, h2, section, form, dialog, table, .card, .chips, .plot, .facts, .chart, [type=submit], pre'
)].filter((each) => each.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([, { width, height }]) => width > 1 && height > 1)
  .slice(0, MOST)
  .map(([each, box]) => [
    each.localName + [...each.classList].slice(0, 1).map((name) => '.' + name).join(''),
    ...[box.left + scrollX, box.top + scrollY, box.width, box.height].map(Math.round),
  ])`;
const MOST_BOXES = 40;
/** A box may move or grow by so many pixels, or by this share of its place and size. */
export const PIXELS = 4;
const SHARE = 0.02;
/** Where values are measured, panels and rows come and go: only so many boxes are compared, of the header. */
const BOXES_OF_MEASURED = 4;
const SHARE_MEASURED = 0.15;
/** More would repeat what the first ones say: what is above moves all below it. */
const MOST_DIFFERENCES = 5;

export function readBoxes(page: Page): Promise<Box[]> {
  return page.evaluate<Box[]>(READ.replace('MOST', String(MOST_BOXES)));
}

/** @param isMeasured the view shows values that differ from run to run */
export function differencesOf(accepted: readonly Box[], found: readonly Box[], isMeasured = false): string[] {
  const differences: string[] = [];
  const count = isMeasured ? BOXES_OF_MEASURED : Math.max(accepted.length, found.length);
  for (let index = 0; index < count; index++) {
    const [before, now] = [accepted[index], found[index]];
    if (before === undefined || now === undefined || before[0] !== now[0]) {
      differences.push(`box ${index + 1} was ${lineOf(before)}, and is ${lineOf(now)}`);
      break;
    }
    if (!isNear(before, now, isMeasured))
      differences.push(`${before[0]} was at ${lineOf(before)}, and is at ${lineOf(now)}`);
  }
  return differences.slice(0, MOST_DIFFERENCES);
}

function isNear(before: Box, now: Box, isMeasured: boolean): boolean {
  return (isMeasured ? [1, 3] : [1, 2, 3, 4]).every((at) => {
    const [was, is] = [Number(before[at]), Number(now[at])];
    return Math.abs(was - is) <= Math.max(PIXELS, was * (isMeasured ? SHARE_MEASURED : SHARE));
  });
}

export function lineOf(box: Box | undefined): string {
  return box === undefined ? 'not there' : box.join(' ');
}

export function boxOf(line: string): Box {
  const [name, ...numbers] = line.split(' ');
  const [x, y, width, height] = numbers.map(Number);
  return [name, x, y, width, height];
}

/**
 * Finds content that a person cannot see at this width: a page that scrolls sideways, text beyond the edge of the
 * screen or of a box that neither shows nor scrolls it, and bars that are higher than the screen.
 */
const CUT_OFF = `(() => {
  const found = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) found.push('the page is ' + wide + ' wide');
  const name = (each) => each.localName + (each.className ? '.' + each.className : '') + ' "' +
    each.textContent.trim().slice(0, 30) + '"';
  const clips = (style) => style.overflowX !== 'visible';
  const scrolls = (style) => style.overflowX === 'auto' || style.overflowX === 'scroll';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
    const parent = text.parentElement;
    if (text.data.trim() === '' || !parent.checkVisibility({ visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const box = range.getBoundingClientRect();
    if (box.width === 0 || parent.closest('.unseen, .skip, caption, option, [aria-hidden=true]') !== null) continue;
    let [left, right] = [0, innerWidth];
    for (let each = parent; each !== null; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (!clips(style) || each === document.body) continue;
      if (scrolls(style)) { left = -Infinity; right = Infinity; break; }
      const edges = each.getBoundingClientRect();
      if (edges.width <= 1) { left = -Infinity; right = Infinity; break; }
      left = Math.max(left, edges.left);
      right = Math.min(right, edges.right);
    }
    if (box.left < left - 1 || box.right > right + 1) found.push('cut off: ' + name(parent));
  }
  const covered = [...document.querySelectorAll('body *')].filter((each) =>
    /fixed|sticky/.test(getComputedStyle(each).position) && each.checkVisibility() && each.closest('dialog') === null);
  for (const each of covered) {
    const { height, top, bottom } = each.getBoundingClientRect();
    const isFixed = getComputedStyle(each).position === 'fixed';
    const isCut = height > innerHeight && (top < 0 || bottom > innerHeight);
    if (isFixed && isCut) found.push('higher than the screen: ' + name(each));
  }
  return [...new Set(found)];
})()`;

export function cutOff(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(CUT_OFF);
}

/** Finds motion for a person who wants none: running animations, and rules that move without asking. */
const MOVING = `(() => {
  const found = document.getAnimations().filter(({ playState }) => playState === 'running')
    .map((each) => 'runs: ' + (each.animationName ?? each.transitionProperty));
  const look = (rules) => {
    for (const rule of rules) {
      if (rule.media?.mediaText.includes('prefers-reduced-motion: no-preference')) continue;
      const { animationName = '', transitionDuration = '', scrollBehavior = '' } = rule.style ?? {};
      if (animationName !== '' && animationName !== 'none') found.push(rule.selectorText + ' is animated');
      if (/[1-9]/.test(transitionDuration)) found.push(rule.selectorText + ' has a transition');
      if (scrollBehavior === 'smooth') found.push(rule.selectorText + ' scrolls smoothly');
      if (rule.cssRules !== undefined) look(rule.cssRules);
    }
  };
  for (const sheet of document.styleSheets) look(sheet.cssRules);
  return found;
})()`;

export function moving(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(MOVING);
}
