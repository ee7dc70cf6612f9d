import de from "./de.json" with { type: "json" };
import en from "./en.json" with { type: "json" };
import es from "./es.json" with { type: "json" };
import fr from "./fr.json" with { type: "json" };
import it from "./it.json" with { type: "json" };

export const LANGUAGES = ["en", "es", "fr", "de", "it"] as const;

export type Language = (typeof LANGUAGES)[number];

export type Topic = keyof typeof en.conversations;

export type VoicemailReason = keyof typeof en.messageIntroductions;

/**
 * The phrases of calls in one language. In a conversation each line starts with `A:` for the agent or `C:` for the
 * caller. Words in braces are filled in: `{business} {agent} {name} {items} {total} {minutes} {service} {day} {time}
 * {message}`. Weekdays go from Sunday, services in the order of those that are booked.
 */
export const PHRASES: Readonly<Record<Language, typeof en>> = { en, es, fr, de, it };
