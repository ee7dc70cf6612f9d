// Health check of the images: whether the receiver (or with the word `simulator` the simulator) is ready. Exits 0 or 1.
const { RECEIVER_ROLE, PORT, ADMIN_PORT, ADMIN_TOKEN } = process.env;
const receiverPort = RECEIVER_ROLE === "worker" ? ADMIN_PORT || 3001 : PORT || 3000;
const url =
  process.argv[2] === "simulator"
    ? `http://127.0.0.1:${process.argv[3] ?? 4010}/openapi.json`
    : `http://127.0.0.1:${receiverPort}/readyz`;

try {
  const headers = ADMIN_TOKEN ? { authorization: `Bearer ${ADMIN_TOKEN}` } : {};
  const { ok } = await fetch(url, { headers, signal: AbortSignal.timeout(4_000) });
  process.exitCode = ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
