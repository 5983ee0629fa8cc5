/** `npm run replay`: plays a recording as a stream, on a port or as lines. */
import { readFileSync } from 'node:fs';
import { errorMessage } from '../../../shared/base/thrown.ts';
import { parseRecording } from '../../../shared/client/stream/recording.ts';
import { STREAM_PATH } from '../../stream/limits.ts';
import { type ReplayOptions, replayOptions } from './options.ts';
import { Playback } from './playback.ts';
import { ReplayServer } from './server.ts';

const USAGE = `Usage:
  npm run replay -- FILE [--speed N|max] [--port P]
      serves a file of "pmx record" at ws://127.0.0.1:P${STREAM_PATH}, to each reader from its start;
      without --port prints the frames. --speed 1 is as recorded.`;
const EXIT_USAGE = 64;

async function run({ file, speed, port }: ReplayOptions): Promise<void> {
  const recording = parseRecording(readFileSync(file, 'utf8'));
  if (port !== null) {
    const server = new ReplayServer(recording, speed);
    const at = await server.listen(port);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => server.close());
    console.log(`market ${recording.marketId}, ${recording.frames.length} frames: ws://127.0.0.1:${at}${STREAM_PATH}`);
    return;
  }
  const playback = new Playback(recording, speed, {
    send: (text) => process.stdout.write(`${text}\n`),
    ended: () => {},
  });
  process.stdout.on('drain', () => playback.resume());
  // The reader of the lines has closed the pipe.
  process.stdout.on('error', () => playback.stop());
  playback.playBook();
}

try {
  const chosen = replayOptions(process.argv.slice(2));
  await run(chosen).catch((error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
  });
} catch (error) {
  console.error(`error: ${errorMessage(error)}\n\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
}
