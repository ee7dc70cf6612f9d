/** At the start of the server: continues with the unfinished jobs of the last one, before any event comes. */
export async function register() {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { receiver } = await import("./receiver.mjs");
  await receiver();
}
