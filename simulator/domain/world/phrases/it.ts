import type { Phrases } from "./phrases.ts";

export const it: Phrases = {
  greetings: [
    "{business}, sono {agent}. Come posso aiutarla?",
    "Grazie per aver chiamato {business}. Sono {agent}, l'assistente virtuale. Mi dica.",
  ],
  conversations: {
    hours: [
      [
        "C: Buongiorno, {day} siete aperti?",
        "A: Sì, {day} ci siamo fino alle {time}.",
        "C: Benissimo, grazie.",
      ],
    ],
    order: [
      [
        "C: Vorrei ordinare qualcosa da portare via.",
        "A: Certo, mi dica pure.",
        "C: {items}, per favore.",
        "A: Sono {total} dollari. A che nome?",
        "C: {name}.",
        "A: Grazie, {name}. Sarà pronto tra circa {minutes} minuti.",
      ],
    ],
    booking: [
      [
        "C: Buongiorno, avrei bisogno di un appuntamento per {service}.",
        "A: Le posso proporre {day} alle {time}.",
        "C: Va bene. Sono {name}.",
        "A: Perfetto, {name}: {service}, {day} alle {time}.",
      ],
    ],
    price: [
      [
        "C: Quanto costa {service}?",
        "A: A partire da {total} dollari, trasferta compresa.",
        "C: Va bene, ci penso.",
      ],
    ],
    complaint: [
      [
        "C: Chiamo perché l'ultima volta non sono rimasto contento.",
        "A: Mi dispiace molto. Che cosa è successo?",
        "C: Abbiamo aspettato più di {minutes} minuti senza una spiegazione.",
        "A: Le chiedo scusa, {name}. Il responsabile la richiamerà {day}.",
      ],
    ],
    transfer: [
      [
        "C: Potrei parlare con una persona?",
        "A: Certamente. Chi devo annunciare?",
        "C: {name}.",
        "A: Un attimo, {name}, la metto in contatto.",
      ],
    ],
    failed_transfer: [
      [
        "C: Vorrei parlare con il responsabile.",
        "A: Un attimo, provo a chiamarlo.",
        "A: Mi dispiace, {name}, al momento non risponde nessuno. Lascio una nota.",
        "C: Va bene, richiamo più tardi.",
      ],
    ],
    voicemail: [["C: {message}", "A: Grazie, {name}. Riferirò il messaggio."]],
  },
  messageIntroductions: {
    after_hours: "In questo momento siamo chiusi, ma posso prendere un messaggio.",
    staff_unavailable: "Sono tutti occupati. Vuole lasciare un messaggio?",
    callback_requested: "La faccio richiamare. Di che cosa si tratta?",
  },
  messages: {
    restaurant: [
      "Buonasera, sono {name}. Mi richiamate per il tavolo di {day}? Saremo qualcuno in più.",
      "Salve, {name}. Credo di aver dimenticato gli occhiali da voi. Grazie.",
    ],
    services: [
      "Sono {name}. Devo spostare l'appuntamento di {day}, dopo le {time} andrebbe bene.",
      "Buongiorno, {name}. Dopo il vostro intervento il rumore è tornato. Richiamatemi, grazie.",
    ],
  },
  goodbyes: ["Grazie della chiamata. Arrivederci!", "Buona giornata!"],
  and: "e",
  weekdays: ["domenica", "lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato"],
  services: ["un controllo di sicurezza", "una riparazione", "un preventivo", "la manutenzione annuale"],
  twelveHourClock: false,
};
