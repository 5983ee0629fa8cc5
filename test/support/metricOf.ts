import type { TestServer } from './server.ts';

/** Returns one sample of a server's metrics, by its labels as they are written. */
export async function metricOf(server: TestServer, sample: string): Promise<number> {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const text = await (await fetch(`${server.adminUrl}/metrics`, { headers })).text();
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return Number(line?.slice(sample.length));
}
