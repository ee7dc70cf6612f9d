import { faker as german } from "@faker-js/faker/locale/de";
import { faker as english } from "@faker-js/faker/locale/en";
import { faker as spanish } from "@faker-js/faker/locale/es";
import { faker as french } from "@faker-js/faker/locale/fr";
import { faker as italian } from "@faker-js/faker/locale/it";
import { createRandom, type Random } from "../random.ts";
import type { Business, Language } from "./organizations.ts";

/** Somebody who calls: the same number is always the same person, who speaks the same language. */
export type Caller = { phone: string; name: string; language: Language };

const FAKERS = { en: english, es: spanish, fr: french, de: german, it: italian };
const LANGUAGES = ["en", "es", "fr", "de", "it"] as const;
const AREA_CODES = [
  212, 718, 917, 646, 347, 201, 551, 973, 415, 510, 628, 650, 408, 707, 925, 203, 305, 312, 404, 512, 602,
  617, 702, 808,
] as const;

// Numbers from 555-0100 to 555-0199 belong to nobody; the first ten of each area are the businesses' own.
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
  const { seed, random, business, language } = options;
  // Squared, so that the first callers of the list are the regulars.
  const index = Math.floor(random.next() ** 2 * CALLERS_A_LANGUAGE);
  const place = LANGUAGES.indexOf(language) * CALLERS_A_LANGUAGE + index;
  const areaCode = AREA_CODES[Math.floor(place / NUMBERS_AN_AREA)] ?? AREA_CODES[0];
  const number = FIRST_NUMBER + (place % NUMBERS_AN_AREA);

  const faker = FAKERS[language];
  faker.seed(createRandom(seed, "caller", business.number, place).int(0, 2 ** 31));
  const name = `${faker.person.firstName()} ${faker.person.lastName()}`;
  return { phone: `+1${areaCode}55501${number}`, name, language };
}
