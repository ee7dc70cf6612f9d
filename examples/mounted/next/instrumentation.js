/** At the start of the server: what an earlier one left undone is taken up, before any event comes. */
export async function register() {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { receiver } = await import("./receiver.mjs");
  await receiver();
}
