import type { Phrases } from "./phrases.ts";

export const fr: Phrases = {
  greetings: [
    "{business}, {agent} à l'appareil. Que puis-je faire pour vous ?",
    "Bonjour, vous êtes bien chez {business}. Je suis {agent}, l'assistante virtuelle.",
  ],
  conversations: {
    hours: [
      [
        "C: Bonjour, êtes-vous ouverts {day} ?",
        "A: Oui, {day} nous sommes là jusqu'à {time}.",
        "C: Très bien, merci.",
      ],
    ],
    order: [
      [
        "C: Je voudrais commander à emporter.",
        "A: Avec plaisir, je vous écoute.",
        "C: {items}, s'il vous plaît.",
        "A: Cela fait {total} dollars. À quel nom ?",
        "C: {name}.",
        "A: Merci, {name}. Ce sera prêt dans {minutes} minutes environ.",
      ],
    ],
    booking: [
      [
        "C: Bonjour, j'aurais besoin d'une {service}.",
        "A: Je peux vous proposer {day} à {time}.",
        "C: C'est parfait. Au nom de {name}.",
        "A: C'est noté, {name} : {service}, {day} à {time}.",
      ],
    ],
    price: [
      [
        "C: Combien coûte une {service} ?",
        "A: À partir de {total} dollars, déplacement compris.",
        "C: D'accord, je vais réfléchir.",
      ],
    ],
    complaint: [
      [
        "C: J'appelle parce que je n'ai pas été satisfait la dernière fois.",
        "A: J'en suis désolée. Que s'est-il passé ?",
        "C: Nous avons attendu plus de {minutes} minutes sans explication.",
        "A: Toutes nos excuses, {name}. Le responsable vous rappellera {day}.",
      ],
    ],
    transfer: [
      [
        "C: Est-ce que je pourrais parler à quelqu'un ?",
        "A: Bien sûr. C'est de la part de qui ?",
        "C: {name}.",
        "A: Un instant, {name}, je vous mets en relation.",
      ],
    ],
    failed_transfer: [
      [
        "C: Je souhaite parler au responsable.",
        "A: Un instant, j'essaie de le joindre.",
        "A: Désolée, {name}, personne ne répond. Je laisse une note.",
        "C: Bon, je rappellerai plus tard.",
      ],
    ],
    voicemail: [["C: {message}", "A: Merci, {name}. Je transmets votre message."]],
  },
  messageIntroductions: {
    after_hours: "Nous sommes fermés pour le moment, mais je peux prendre un message.",
    staff_unavailable: "Tout le monde est occupé. Puis-je prendre un message ?",
    callback_requested: "On vous rappellera. C'est à quel sujet ?",
  },
  messages: {
    restaurant: [
      "Bonjour, c'est {name}. Rappelez-moi s'il vous plaît pour la table de {day}, nous serons plus nombreux.",
      "C'est {name}. Je crois avoir oublié mon écharpe chez vous. Merci de me prévenir.",
    ],
    services: [
      "Bonjour, {name}. Je dois déplacer mon rendez-vous de {day}. Après {time}, ce serait bien.",
      "C'est {name}. L'appareil fait de nouveau du bruit depuis votre visite. Rappelez-moi, merci.",
    ],
  },
  goodbyes: ["Merci de votre appel. Au revoir !", "Bonne journée !"],
  and: "et",
  weekdays: ["dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"],
  services: ["inspection de sécurité", "réparation", "visite de devis", "révision annuelle"],
  twelveHourClock: false,
};
