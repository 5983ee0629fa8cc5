/** The style sheets of the pages: tokens.css alone names colours and lengths, and each rule is written once. */
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

/** A rule outside of a media query: its selectors, and its declarations. */
const RULE = /^([^\s@}][^{}]*)\{([^{}]*)\}/gm;

test('only tokens.css names a colour, in style sheets and in programs', () => {
  const declared = new RegExp(`^\\s+[\\w-]+:.*(?:${COLOUR.source})`, 'i');
  assertClean(others, (source) => linesLike(source, declared));
  assertClean(makers, (source) => linesLike(source, /['"`]#[0-9a-f]{3,8}['"`]|\b(?:rgb|hsl)a?\(/i));
});

/** A length in rem; but the widths at which views are laid out in another way stand in media queries. */
const LENGTH = /^(?!@media \((?:min|max)-width: (?:42|50|52|62|66|100)rem\) \{).*\drem\b/;

test('a length in rem is a token, and so is a size of type and a space between things that is no hairline', () => {
  assertClean(others, (source) => linesLike(source, LENGTH));
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

test('no two rules of the style sheets are the same, and every page is served the shared ones', () => {
  const places = new Map<string, string[]>();
  for (const { path, text } of sheets) {
    for (const [, , body = ''] of text.matchAll(RULE)) {
      const declarations = body.trim().split(/;\s*/).filter(Boolean);
      if (declarations.length < 3) continue;
      const rule = declarations.sort().join('; ');
      places.set(rule, [...(places.get(rule) ?? []), path]);
    }
  }
  assertNone([...places].filter(([, paths]) => paths.length > 1).map(([rule, paths]) => `${paths.join()}: ${rule}`));
  const served = makers.filter(({ text }) => /['"`]text\/css/.test(text));
  assertClean(served, ({ text }) =>
    /styleText\(|\['tokens', 'base', 'components'\]/.test(text) ? [] : ['serves a style sheet of its own'],
  );
  assertClean(makers, (source) => linesLike(source, /<style|style="/));
});
