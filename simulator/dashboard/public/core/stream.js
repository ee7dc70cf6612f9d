const RETRY_MS = 1_000;
const MESSAGES = [
  "event",
  "delivery",
  "endpoint",
  "endpoint_deleted",
  "clock",
  "verification",
  "reset",
  "resync",
];

/**
 * The stream of what happens. `onMessage(name, data)` for each message; `onOpen(isReconnected)` whenever the stream
 * stands again, when everything shown may be out of date; `onLost()` when it broke. Comes back by itself for ever.
 */
export function openStream({ onMessage, onOpen, onLost }) {
  let wasOpen = false;

  function connect() {
    const source = new EventSource("/control/stream");
    source.addEventListener("open", () => {
      onOpen(wasOpen);
      wasOpen = true;
    });
    source.addEventListener("error", () => {
      onLost();
      // The browser reconnects after a break, but gives up after an answer that is no stream.
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(connect, RETRY_MS);
    });
    for (const name of MESSAGES) {
      source.addEventListener(name, (message) => onMessage(name, JSON.parse(message.data)));
    }
  }

  connect();
}
