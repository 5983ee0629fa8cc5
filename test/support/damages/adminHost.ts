/** A process of the exchange's user that runs commands of the administrator, and sends what each gave out. */
import { runAdminHere } from '../adminProgram.ts';

process.on('message', async ({ args, env }: { args: string[]; env: Record<string, string> }) => {
  const { status, stdout, stderr } = await runAdminHere(args, env).catch((error: Error) => {
    return { status: -1, stdout: '', stderr: error.stack ?? error.message };
  });
  process.send!({ code: status, text: stdout + stderr });
});
