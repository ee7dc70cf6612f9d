import type { Phrases } from "./phrases.ts";

export const es: Phrases = {
  greetings: [
    "{business}, le atiende {agent}. ¿En qué puedo ayudarle?",
    "Gracias por llamar a {business}. Soy {agent}, la asistente virtual. ¿Qué necesita?",
  ],
  conversations: {
    hours: [
      [
        "C: Buenas, ¿abren el {day}?",
        "A: Sí, el {day} estamos hasta las {time}.",
        "C: Estupendo, muchas gracias.",
      ],
    ],
    order: [
      [
        "C: Quería hacer un pedido para recoger.",
        "A: Claro, dígame.",
        "C: {items}, por favor.",
        "A: Son {total} dólares. ¿A nombre de quién?",
        "C: {name}.",
        "A: Gracias, {name}. Estará listo en unos {minutes} minutos.",
      ],
    ],
    booking: [
      [
        "C: Hola, necesito una cita para una {service}.",
        "A: Tengo libre el {day} a las {time}. ¿Le viene bien?",
        "C: Sí, perfecto. Soy {name}.",
        "A: Queda anotado, {name}: {service}, el {day} a las {time}.",
      ],
    ],
    price: [
      [
        "C: ¿Cuánto cuesta una {service}?",
        "A: Desde {total} dólares, desplazamiento incluido.",
        "C: Vale, me lo pienso y vuelvo a llamar.",
      ],
    ],
    complaint: [
      [
        "C: Llamo porque no quedé contento con la última vez.",
        "A: Lo siento mucho. ¿Qué pasó?",
        "C: Esperamos más de {minutes} minutos sin que nadie nos dijera nada.",
        "A: Le pido disculpas, {name}. El encargado le llamará el {day}.",
      ],
    ],
    transfer: [
      [
        "C: ¿Podría hablar con una persona?",
        "A: Por supuesto. ¿Me dice su nombre?",
        "C: {name}.",
        "A: Un momento, {name}, le paso.",
      ],
    ],
    failed_transfer: [
      [
        "C: Quiero hablar con el encargado.",
        "A: Un momento, por favor.",
        "A: Lo siento, {name}, ahora mismo nadie contesta. Dejo una nota.",
        "C: Bueno, llamaré más tarde.",
      ],
    ],
    voicemail: [["C: {message}", "A: Gracias, {name}. Les paso su mensaje."]],
  },
  messageIntroductions: {
    after_hours: "Ahora estamos cerrados, pero puedo tomar un recado. Dígame.",
    staff_unavailable: "Todos están atendiendo a otros clientes. ¿Quiere dejar un recado?",
    callback_requested: "Haré que le llamen. ¿De qué se trata?",
  },
  messages: {
    restaurant: [
      "Hola, soy {name}. Llámenme por favor por la mesa del {day}, al final somos más.",
      "Soy {name}. Creo que olvidé el paraguas allí. ¿Me avisan si lo encuentran? Gracias.",
    ],
    services: [
      "Buenas, habla {name}. Quisiera cambiar mi cita del {day}, a partir de las {time} me viene bien.",
      "Soy {name}. Lo que arreglaron la semana pasada vuelve a hacer ruido. Llámenme, por favor.",
    ],
  },
  goodbyes: ["Gracias por su llamada. ¡Hasta pronto!", "¡Que tenga un buen día!"],
  and: "y",
  weekdays: ["domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"],
  services: ["inspección de seguridad", "visita de reparación", "visita de presupuesto", "revisión anual"],
  twelveHourClock: false,
};
