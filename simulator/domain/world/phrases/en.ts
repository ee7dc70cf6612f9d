import type { Phrases } from "./phrases.ts";

export const en: Phrases = {
  greetings: [
    "{business}, this is {agent}. How can I help?",
    "Thank you for calling {business}! I'm {agent}, the virtual assistant. What can I do for you?",
    "Hi, you've reached {business}. {agent} speaking.",
  ],
  conversations: {
    hours: [
      [
        "C: Hi, quick question: are you open on {day}?",
        "A: Yes, we are. We're there until {time} on {day}.",
        "C: Great, that's all I needed.",
      ],
      [
        "C: Hello, how late can I come by on {day}?",
        "A: Any time until {time}.",
        "C: And is there parking?",
        "A: There is a public garage just around the corner.",
      ],
    ],
    order: [
      [
        "C: I'd like to order for pickup, please.",
        "A: Gladly. What would you like?",
        "C: {items}.",
        "A: That's {items}, {total} dollars in total. May I have your name?",
        "C: {name}.",
        "A: Thank you, {name}. It will be ready in about {minutes} minutes.",
      ],
      [
        "C: Hi, can I get {items}?",
        "A: Of course. Anything to drink with that?",
        "C: No, just that. The name is {name}.",
        "A: Your total is {total} dollars, and it's ready in {minutes} minutes. Is that right?",
        "C: Perfect.",
      ],
    ],
    booking: [
      [
        "C: Hello, I need somebody for a {service}.",
        "A: I can help with that. Would {day} at {time} suit you?",
        "C: Yes, that works.",
        "A: And your name, please?",
        "C: {name}.",
        "A: You're booked for a {service} on {day} at {time}, {name}.",
      ],
      [
        "C: Do you have anything this week? I'd need a {service}.",
        "A: The next opening is {day} at {time}.",
        "C: I'll take it. It's {name}.",
        "A: Done. You'll get a text the day before.",
      ],
    ],
    price: [
      [
        "C: What do you charge for a {service}?",
        "A: It starts at {total} dollars, and the visit is credited if you go ahead.",
        "C: Okay, let me think about it.",
      ],
    ],
    complaint: [
      [
        "C: I'm calling about my last visit. I wasn't happy with it, to be honest.",
        "A: I'm sorry to hear that. What went wrong?",
        "C: We waited more than {minutes} minutes and nobody told us why.",
        "A: I apologize. I've noted it for the manager, {name}, and somebody will call you back on {day}.",
      ],
    ],
    transfer: [
      [
        "C: Could I talk to a person, please?",
        "A: Sure. May I say who's calling?",
        "C: {name}.",
        "A: One moment, {name}, I'm putting you through.",
        "A: I have {name} on the line for you. Go ahead.",
      ],
      [
        "C: I have a question about an invoice.",
        "A: The office can look that up. I'll connect you now.",
        "C: Thanks.",
      ],
    ],
    failed_transfer: [
      [
        "C: I'd like to speak to the manager.",
        "A: One moment, I'm trying the staff line.",
        "A: I'm sorry, nobody is picking up right now. I've left a note that {name} called.",
        "C: All right, I'll try again later.",
      ],
    ],
    voicemail: [["C: {message}", "A: Thank you, {name}. I've passed your message on."]],
  },
  messageIntroductions: {
    after_hours: "We're closed at the moment, but I can take a message. Please go ahead.",
    staff_unavailable: "Everybody is busy with other customers just now. May I take a message?",
    callback_requested: "I'll have somebody call you back. What is it about?",
  },
  messages: {
    restaurant: [
      "Hi, this is {name}. Please call me back about {day}, we are a few more people than I said.",
      "Hello, {name} here. I think I left my jacket at your place. Could you let me know if you have found it?",
      "This is {name}. I'd like to ask about a private event on {day}, for about thirty people. Thanks, bye.",
    ],
    services: [
      "Hey, it's {name}. I have to move my appointment on {day}. Any time after {time} would work.",
      "This is {name}. The part you put in last week is making a noise again. Please call me back.",
      "Hello, {name} here. Could somebody send me the invoice for the {service}? Thank you.",
    ],
  },
  goodbyes: ["Thank you for calling. Goodbye!", "Have a great day!", "You're welcome. Take care!"],
  and: "and",
  weekdays: ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
  services: ["safety inspection", "repair visit", "free estimate", "yearly service"],
  twelveHourClock: true,
};
