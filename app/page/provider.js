import { ApiError, get, setKey } from "./api.js";
import { t } from "./words.js";

// Signing in at an identity provider: by an authorization code with PKCE, since a page keeps no secret. What is kept for
// the way back, and the token, stay in this tab.
const PENDING = "spanseek-sign-in";
let asked;

// The provider of this server, or null.
export const provider = () => (asked ??= get("/sign-in").then((answer) => answer.provider, () => null));

export const hostOf = ({ issuer }) => new URL(issuer).host;

// Leaves for the provider, which leads back to the page's own address.
export async function leave(provider) {
  if (!window.isSecureContext) throw failed(t("not_secure"));
  const { authorization_endpoint: address } = await discovered(provider);
  const verifier = random(), state = random();
  sessionStorage.setItem(PENDING, JSON.stringify({ verifier, state, back: location.href }));
  const to = new URL(address);
  const asking = { response_type: "code", client_id: provider.client_id, redirect_uri: home(), scope: provider.scope, state, code_challenge: await challenge(verifier), code_challenge_method: "S256" };
  for (const [name, value] of Object.entries(asking)) to.searchParams.set(name, value);
  location.assign(to.href);
}

// Takes the token where the provider has led back, and goes to what was left. What went wrong is thrown.
export async function returned() {
  const given = new URLSearchParams(location.search);
  if (!given.has("state") || !(given.has("code") || given.has("error"))) return;
  const pending = JSON.parse(sessionStorage.getItem(PENDING));
  sessionStorage.removeItem(PENDING);
  history.replaceState(null, "", pending?.back ?? "./");
  const own = await provider();
  if (!own) return;
  const isOurs = pending?.state === given.get("state") && (given.get("iss") ?? own.issuer) === own.issuer;
  if (!isOurs) throw failed(t("sign_in_lost")); // a link of somebody else says nothing here
  if (given.has("error")) throw failed(given.get("error_description") || given.get("error") || t("sign_in_lost"));
  const { token_endpoint: address } = await discovered(own);
  const body = new URLSearchParams({ grant_type: "authorization_code", code: given.get("code"), redirect_uri: home(), client_id: own.client_id, code_verifier: pending.verifier });
  const answer = await read(address, { method: "POST", body });
  if (!answer.access_token) throw failed(answer.error_description || answer.error || t("sign_in_lost"));
  setKey(answer.access_token);
}

async function discovered({ issuer }) {
  const document = await read(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (document.issuer !== issuer) throw failed(t("sign_in_lost"));
  return document;
}

async function read(address, options) {
  try { return await (await fetch(address, options)).json(); } catch { throw failed(t("provider_unreached", { host: new URL(address).host })); }
}

const failed = (detail) => new ApiError(0, { detail: t("not_signed_in"), hint: detail });
const home = () => new URL("./", location.href).href;
const random = () => encoded(crypto.getRandomValues(new Uint8Array(32)));
const challenge = async (verifier) => encoded(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
const encoded = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
