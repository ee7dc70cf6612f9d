import { type Random, createRandom } from "../random.ts";
import { type Business, USUAL_LANGUAGE } from "./organizations.ts";
import names from "./names.json" with { type: "json" };
import { LANGUAGES, type Language } from "./phrases/phrases.ts";

/** A caller. The same number is always the same person with the same language. */
export type Caller = { phone: string; name: string; language: Language };

type Names = { given: readonly string[]; family: readonly string[] };

const NAMES: Record<Language, Names> = {
  en: namesOf(names.en),
  es: namesOf(names.es),
  fr: namesOf(names.fr),
  de: namesOf(names.de),
  it: namesOf(names.it),
};

const AREA_CODES = [
  212, 718, 917, 646, 347, 201, 551, 973, 415, 510, 628, 650, 408, 707, 925, 203, 305, 312, 404, 512, 602,
  617, 702, 808,
] as const;

// Numbers from 555-0100 to 555-0199 are fictional; the first ten of each area belong to the businesses.
const FIRST_NUMBER = 10;
const NUMBERS_AN_AREA = 90;
const CALLERS_A_LANGUAGE = Math.floor((AREA_CODES.length * NUMBERS_AN_AREA) / LANGUAGES.length);

/** One of a business's callers who speaks `language`; some call more often than others. */
export function pickCaller(options: {
  seed: number;
  random: Random;
  business: Business;
  language: Language;
}): Caller {
  // Squared, so that the first callers of the list are the regulars.
  const index = Math.floor(options.random.next() ** 2 * CALLERS_A_LANGUAGE);
  const place = LANGUAGES.indexOf(options.language) * CALLERS_A_LANGUAGE + index;
  const areaCode = AREA_CODES[Math.floor(place / NUMBERS_AN_AREA)] ?? AREA_CODES[0];
  const phone = `+1${areaCode}55501${FIRST_NUMBER + (place % NUMBERS_AN_AREA)}`;
  return { phone, name: nameOf({ ...options, phone }), language: options.language };
}

/** The caller with the number `phone`; an unknown number has the usual language. */
export function callerOf(options: { seed: number; business: Business; phone: string }): Caller {
  const { phone } = options;
  const [, areaCode, number] = /^\+1(\d{3})55501(\d{2})$/.exec(phone) ?? [];
  const area = AREA_CODES.findIndex((known) => String(known) === areaCode);
  const place = area * NUMBERS_AN_AREA + Number(number) - FIRST_NUMBER;
  const isKnown = area !== -1 && Number(number) >= FIRST_NUMBER;
  const made = isKnown ? LANGUAGES[Math.floor(place / CALLERS_A_LANGUAGE)] : undefined;
  const language = made ?? USUAL_LANGUAGE;
  return { phone, name: nameOf({ ...options, language }), language };
}

function nameOf(options: { seed: number; business: Business; phone: string; language: Language }): string {
  const random = createRandom(options.seed, "caller", options.business.number, options.phone);
  const { given, family } = NAMES[options.language];
  return `${random.pick(given)} ${random.pick(family)}`;
}

function namesOf({ given, family }: { given: string; family: string }): Names {
  return { given: given.split(" "), family: family.split(" ") };
}
