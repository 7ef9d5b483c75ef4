import { part, post, put } from "./api.js";

export const SAMPLE = "sample";

const CALLS = [
  [["agent", "Good morning, how can I help?"], ["customer", "I ordered a lamp three weeks ago and the parcel never arrived."], ["agent", "I am sorry. I will send another one today."]],
  [["agent", "Hello, you are speaking to Mia."], ["customer", "I want to cancel my subscription at the end of the month."], ["agent", "Done. You will get a mail that confirms it."]],
  [["customer", "The app closes by itself whenever I press save."], ["agent", "Which version do you have?"], ["customer", "The newest one, since yesterday."]],
  [["customer", "You charged me twice for the same invoice."], ["agent", "I see both payments. One of them goes back to your card."]],
  [["agent", "What can I do for you?"], ["customer", "Nothing is wrong, I just want to say thank you. The delivery was very fast."]],
  [["customer", "How do I change my password?"], ["agent", "Press your name at the top, then Security."]],
];
const MAILS = [
  "Dear team, my package has still not been delivered, although the tracking page says that it was.",
  "Please do not cancel my contract. I only asked what the next payment will be.",
  "The new printer stops after every second page. I should like my money back.",
  "Could you send the invoice of March again? The first one never reached me.",
  "We are moving in June. Our new address is 4 Mill Lane; please deliver there from then on.",
  "Your colleague was patient and solved everything in five minutes. Great service.",
];

const documents = () => [
  ...CALLS.map((turns, at) => ({ id: `call-${at + 1}`, metadata: { kind: "call" }, parts: turns.map(([speaker, text]) => ({ text, metadata: { speaker } })) })),
  ...MAILS.map((text, at) => ({ id: `mail-${at + 1}`, metadata: { kind: "mail" }, text })),
];

// Makes a collection of a few calls and mails, to try a search on.
export async function loadSample() {
  await put(`/collections/${part(SAMPLE)}`, {});
  await post(`/collections/${part(SAMPLE)}/documents`, documents());
}
