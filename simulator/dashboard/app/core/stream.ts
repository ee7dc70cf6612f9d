import type { Messages } from "./types.ts";

const RETRY_MS = 1_000;
const NAMES: (keyof Messages)[] = [
  "event",
  "delivery",
  "endpoint",
  "endpoint_deleted",
  "clock",
  "job",
  "verification",
  "reset",
  "resync",
];

/** One message and its data. */
export type Message = { [Name in keyof Messages]: { name: Name; data: Messages[Name] } }[keyof Messages];

type Listener = {
  onMessage: (message: Message) => void;
  onOpen: (isBack: boolean) => void;
  onLost: () => void;
};

/** Messages between tabs: whether the stream is open. */
type Notice = "open" | "lost" | "asked" | Message;

/**
 * The stream of changes, shared by all tabs: a browser opens six connections to a host, and a stream occupies one. The tab
 * that holds the lock has the stream and forwards its messages; when it is closed, the next tab gets the lock.
 * `onOpen(isBack)` is called whenever the stream opens; with `isBack`, everything shown may be out of date. `onLost()` is
 * called when it breaks; it reconnects without a limit.
 */
export function openStream({ onMessage, onOpen, onLost }: Listener): void {
  let isOpen = false;
  let wasOpen = false;
  let stop = start();
  // A page in the browser's back/forward cache keeps neither the stream nor the lock.
  addEventListener("pagehide", () => stop());
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) stop = start();
  });

  function take(notice: Notice): void {
    if (notice === "open") {
      if (isOpen) return;
      isOpen = true;
      onOpen(wasOpen);
      wasOpen = true;
    } else if (notice === "lost") {
      isOpen = false;
      onLost();
    } else if (notice !== "asked" && isOpen) onMessage(notice);
  }

  function start(): () => void {
    const stopped = new AbortController();
    const others = new BroadcastChannel("voice-agent-simulator stream");
    const pass = (notice: Notice) => {
      take(notice);
      others.postMessage(notice);
    };
    let isLeader = false;
    others.addEventListener("message", ({ data }: MessageEvent<Notice>) => {
      if (data !== "asked") take(data);
      else if (isLeader && isOpen) others.postMessage("open" satisfies Notice);
    });

    const lead = () =>
      new Promise<void>((resolve) => {
        isLeader = true;
        // The last message of the previous tab is not known.
        if (isOpen) pass("lost");
        readStream(pass, stopped.signal);
        stopped.signal.addEventListener("abort", () => resolve());
      });
    others.postMessage("asked" satisfies Notice);
    // There are locks on this machine and over https: elsewhere each tab has its own stream.
    if ("locks" in navigator)
      navigator.locks.request(others.name, { signal: stopped.signal }, lead).catch(() => undefined);
    else void lead();
    return () => {
      isOpen = false;
      stopped.abort();
      others.close();
    };
  }
}

function readStream(pass: (notice: Notice) => void, signal: AbortSignal): void {
  const source = new EventSource("/control/stream");
  signal.addEventListener("abort", () => source.close());
  source.addEventListener("open", () => pass("open"));
  source.addEventListener("error", () => {
    pass("lost");
    // The browser reconnects after a break, but gives up after an answer that is not a stream.
    if (source.readyState !== EventSource.CLOSED || signal.aborted) return;
    setTimeout(() => signal.aborted || readStream(pass, signal), RETRY_MS);
  });
  for (const name of NAMES) source.addEventListener(name, ({ data }) => pass(messageOf(name, String(data))));
}

function messageOf(name: keyof Messages, text: string): Message {
  const data: unknown = JSON.parse(text);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where a message gets its type
  return { name, data } as Message;
}
