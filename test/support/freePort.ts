/**
 * A port without a listener, for a process that is to come back where it was. It is none of those that the system gives
 * out by itself: while the process is away, no other one gets it as the port of a connection or of a server.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST = 10_000;
/** From here on Linux gives them out. */
const END = 32_768;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE' || error.code === 'EACCES') return false;
        throw error;
      },
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
