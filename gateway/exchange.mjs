#!/usr/bin/env node
/**
 * `npx open-prediction-exchange`: the exchange of an installed package, with its data in the folder `data/live` of the
 * directory in which it is called. Plain JavaScript, because the Node that starts this file may not know TypeScript.
 */
import { fileURLToPath } from 'node:url';

const PROGRAMS = { start: './main.ts', health: './health.ts', admin: '../engine/admin/main.ts' };
const USAGE = `Usage: open-prediction-exchange [start]
       open-prediction-exchange health [--ready] [--wait SECONDS [--pid PID]]
       open-prediction-exchange admin <command>      admin --help lists the commands

Settings are environment variables; .env.example of the package lists them.`;
const EXIT_USAGE = 64;

const [name = 'start', ...rest] = process.argv.slice(2);
if (Object.hasOwn(PROGRAMS, name)) {
  process.argv.splice(2, process.argv.length, fileURLToPath(new URL(PROGRAMS[name], import.meta.url)), ...rest);
  await import('../shared/run.mjs');
} else {
  const isHelp = name === '--help' || name === '-h' || name === 'help';
  (isHelp ? console.log : console.error)(USAGE);
  process.exitCode = isHelp ? 0 : EXIT_USAGE;
}
