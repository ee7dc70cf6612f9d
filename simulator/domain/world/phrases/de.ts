import type { Phrases } from "./phrases.ts";

export const de: Phrases = {
  greetings: [
    "{business}, mein Name ist {agent}. Was kann ich für Sie tun?",
    "Guten Tag, Sie sind verbunden mit {business}. Hier spricht {agent}, die digitale Assistentin.",
  ],
  conversations: {
    hours: [
      [
        "C: Guten Tag, haben Sie am {day} geöffnet?",
        "A: Ja, am {day} sind wir bis {time} Uhr da.",
        "C: Prima, danke.",
      ],
    ],
    order: [
      [
        "C: Ich würde gern etwas zum Abholen bestellen.",
        "A: Gern, was darf es sein?",
        "C: {items}, bitte.",
        "A: Das macht {total} Dollar. Auf welchen Namen?",
        "C: {name}.",
        "A: Danke, {name}. In etwa {minutes} Minuten ist alles fertig.",
      ],
    ],
    booking: [
      [
        "C: Hallo, ich brauche einen Termin: {service}.",
        "A: Ich könnte Ihnen {day} um {time} Uhr anbieten.",
        "C: Das passt. Mein Name ist {name}.",
        "A: Ist eingetragen, {name}: {service}, {day} um {time} Uhr.",
      ],
    ],
    price: [
      [
        "C: Was kostet das bei Ihnen: {service}?",
        "A: Ab {total} Dollar, Anfahrt inbegriffen.",
        "C: Gut, ich überlege es mir.",
      ],
    ],
    complaint: [
      [
        "C: Ich rufe an, weil ich beim letzten Mal nicht zufrieden war.",
        "A: Das tut mir leid. Was ist passiert?",
        "C: Wir haben über {minutes} Minuten gewartet, und niemand hat etwas gesagt.",
        "A: Bitte entschuldigen Sie, {name}. Am {day} ruft Sie jemand zurück.",
      ],
    ],
    transfer: [
      [
        "C: Könnte ich mit einem Menschen sprechen?",
        "A: Natürlich. Wen darf ich melden?",
        "C: {name}.",
        "A: Einen Moment, {name}, ich verbinde.",
      ],
    ],
    failed_transfer: [
      [
        "C: Ich möchte den Geschäftsführer sprechen.",
        "A: Einen Moment, ich versuche es.",
        "A: Leider nimmt gerade niemand ab, {name}. Ich hinterlasse eine Notiz.",
        "C: Gut, dann melde ich mich später noch einmal.",
      ],
    ],
    voicemail: [["C: {message}", "A: Danke, {name}. Ich gebe das so weiter."]],
  },
  messageIntroductions: {
    after_hours: "Wir haben gerade geschlossen, aber ich nehme gern eine Nachricht auf.",
    staff_unavailable: "Im Moment sind alle im Gespräch. Möchten Sie eine Nachricht hinterlassen?",
    callback_requested: "Wir rufen Sie gern zurück. Worum geht es?",
  },
  messages: {
    restaurant: [
      "Guten Tag, hier ist {name}. Bitte rufen Sie mich wegen des Tisches am {day} zurück, wir werden mehr.",
      "Hallo, {name}. Ich glaube, ich habe meinen Schirm bei Ihnen vergessen. Danke!",
    ],
    services: [
      "{name} hier. Ich muss meinen Termin am {day} verschieben, ab {time} Uhr würde es gehen.",
      "Guten Tag, {name}. Seit Ihrem Besuch tropft es wieder. Bitte rufen Sie mich zurück.",
    ],
  },
  goodbyes: ["Danke für Ihren Anruf. Auf Wiederhören!", "Einen schönen Tag noch!"],
  and: "und",
  weekdays: ["Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"],
  services: ["Sicherheitsprüfung", "Reparatur", "Kostenvoranschlag vor Ort", "Jahreswartung"],
  twelveHourClock: false,
};
