const MOST = 63;

// A name for a collection, of any text: `collectionName("Contact Centre")` gives "contact-centre".
export function collectionName(text) {
  const plain = text.replaceAll("ß", "ss").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9_]+/g, "-").replace(/^[-_]+/, "").slice(0, MOST).replace(/-+$/, "");
}

// The name of a file without its ending.
export const stem = (name) => name.replace(/\.gz$/i, "").replace(/\.\w{1,6}$/, "");

// The name, or the first with a number that is free.
export function freeName(name, taken) {
  for (let number = 1; ; number++) {
    const tried = number === 1 ? name : `${name.slice(0, MOST - String(number).length - 1)}-${number}`;
    if (!taken.includes(tried)) return tried;
  }
}
