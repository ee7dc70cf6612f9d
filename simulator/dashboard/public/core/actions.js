import { control } from "./api.js";
import { countOf } from "./format.js";
import { clockFrom, eventTypes } from "./live.js";
import { PLACES } from "./places.js";
import { listPath, navigate } from "./route.js";
import { attempt, toast } from "./toasts.js";

/** Everything that can be done from anywhere: words, icon, and what it does. */
export function allActions({ toggleTheme, openHelp }) {
  return [
    ...PLACES.map(({ path, words, icon }) => ({
      words: `Go to ${words}`,
      icon,
      run: () => navigate(path === "/" ? listPath() : path),
    })),
    { words: "Show what is not right", icon: "cross", run: () => navigate("/?verdict=not") },
    { words: "Show what gave up", icon: "flag", run: () => navigate("/?state=dead") },
    ...eventTypes().map((type) => ({ words: `Trigger ${type}`, icon: "trigger", run: () => trigger(type) })),
    { words: "Register an endpoint", icon: "plus", run: () => navigate("/endpoints?new") },
    { words: "Resend all that gave up", icon: "resend", run: () => resendAll() },
    { words: "Step to the next attempt", icon: "next", run: () => advance({ until: "next" }) },
    { words: "Advance one minute", icon: "clock", run: () => advance({ seconds: 60 }) },
    { words: "Advance one hour", icon: "clock", run: () => advance({ seconds: 3_600 }) },
    { words: "Advance until nothing waits", icon: "end", run: () => advance({ until: "idle" }) },
    { words: "Change the theme", icon: "sun", run: toggleTheme },
    { words: "Keyboard shortcuts", icon: "keyboard", run: openHelp },
    { words: "API docs", icon: "book", run: () => navigate("/docs") },
  ];
}

/** Sends everything again that gave up, of all endpoints or of one. */
export async function resendAll(endpointId) {
  const body = endpointId === undefined ? {} : { endpoint_id: endpointId };
  const resent = await attempt(() => control.post("/deliveries/resend", body));
  if (resent === undefined) return;
  const { length } = resent.data;
  if (length === 0)
    toast("ok", "Nothing to resend: all that gave up was sent again, or its endpoint is gone.");
  else
    toast(
      "ok",
      `${countOf(length, "delivery", "deliveries")} sent again${resent.has_more ? "; there are more" : ""}.`,
    );
}

async function trigger(type) {
  const sent = await attempt(() => control.post("/events", { type }));
  if (sent === undefined) return;
  const [delivery] = sent.deliveries;
  navigate(delivery === undefined ? `/events/${sent.events[0].id}` : `/deliveries/${delivery.id}`);
}

async function advance(body) {
  await attempt(() => clockFrom(control.post("/clock/advance", body)));
}
