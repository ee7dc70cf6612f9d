/** Waits for turns of the event loop, each of which reads the sockets: to show that something does not happen. */
export async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
