/** Turns of the event loop, each of which reads what has come in on a socket: for what must not happen meanwhile. */
export async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
