/** The style sheets of the pages: tokens.css alone names colours and sizes, and no other file has a copy of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertClean, assertNone, linesLike, ROOT, type Source, sources, tracked } from './sources.ts';

const TOKENS = 'gateway/web/browser/tokens.css';
const sheets: readonly Source[] = tracked()
  .filter((path) => path.endsWith('.css'))
  .map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, lines: text.split('\n') };
  });
const tokens = sheets.filter(({ path }) => path === TOKENS);
const others = sheets.filter(({ path }) => path !== TOKENS);
/** The programs that make or draw pages. */
const makers = sources.filter(({ path }) => /^gateway\/(?:web|programs\/ramp)\//.test(path));

const COLOUR =
  /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\(|\b(?:white|black|red|green|blue|gr[ae]y)\b/;

test('only tokens.css names a colour, in style sheets and in programs', () => {
  const declared = new RegExp(`^\\s+[\\w-]+:.*(?:${COLOUR.source})`, 'i');
  assertClean(others, (source) => linesLike(source, declared));
  assertClean(makers, (source) => linesLike(source, /['"`]#[0-9a-f]{3,8}['"`]|\b(?:rgb|hsl)a?\(/i));
});

test('a size of type is a token, and so is a space between things that is no hairline', () => {
  assertClean(others, (source) => [
    ...linesLike(source, /^\s+font-size: (?!var\(--type-[a-z]+\);)/),
    ...linesLike(source, /^\s+(?:font: .*|\d[\w.]* ?\/? ?[\d.]* ?)\d(?:px|rem)\b/),
    ...linesLike(source, /^\s+(?:[a-z]+-)?(?:gap|padding|margin|radius)[a-z-]*: .*\d(?:rem|[1-9]\dpx)/),
  ]);
});

test('a token that is used is declared, and one that is declared is used', () => {
  const declared = new Set(
    tokens.flatMap(({ text }) => [...text.matchAll(/^\s+(--[\w-]+):/gm)].map(([, name]) => name)),
  );
  const drawn = makers.flatMap(({ text }) => [...text.matchAll(/--[a-z][\w-]*/g)].map(([name]) => name));
  const named = sheets.flatMap(({ text }) => [...text.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name));
  const used = new Set([...named, ...drawn]);
  assertNone([...declared].filter((name) => !used.has(name)).map((name) => `not used: ${name}`));
  // A program sets the other ones where it draws.
  assertNone(named.filter((name) => !declared.has(name) && !drawn.includes(name)).map((name) => `unknown: ${name}`));
});

test('every class of the style sheets is given to something', () => {
  const text = makers.map((source) => source.text).join('\n');
  const words = new Set(text.match(/[a-zA-Z][\w-]*/g));
  assertClean(sheets, (source) => {
    const selectors = source.text.replace(/\/\*[\s\S]*?\*\/|\{[^{}]*\}/g, ' ');
    const classes = new Set([...selectors.matchAll(/\.([a-zA-Z][\w-]*)/g)].map(([, name]) => name!));
    // Those of uPlot, and those whose number is computed.
    return [...classes].filter((name) => !name.startsWith('u-') && !words.has(name.replace(/\d+$/, '')));
  });
});
