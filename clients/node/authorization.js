// What a request says (OpenID4VP 1.0 §5). Whatever an answer would be rejected for is refused here already: mistakes
// throw `TypeError` before anybody is asked.
import { attempt, isObject, readJson } from "./jose.js";

export const SCOPE = "urn:service:params:scope:verifiable-credentials:";
// The claims of the scopes with which every service begins. A person may leave off one with a question mark. Operators may
// change all of them but FIXED: then the claims that are named in a request count.
const FIXED = "basic";
const SCOPES = {
  "basic": ["given_name", "family_name", "age_equal_or_over.18"], "age-over-18": ["age_equal_or_over.18"],
  "identity": ["birth_date", "nationalities?"], "contact": ["email"],
};
const MODES = ["fragment", "direct_post", "direct_post.jwt"];
const isText = (value) => typeof value === "string";
const bare = (claim) => claim.replace(/\?$/, "");
const isWithin = (claim, wanted) => `${bare(claim)}.`.startsWith(`${bare(wanted)}.`);

/** Throws `TypeError` unless the condition holds.
 * @param {unknown} condition @param {string} reason */
export function need(condition, reason) {
  if (!condition) throw new TypeError(reason);
}

/** Throws `TypeError` for an option that is not known, such as a name that is spelt wrongly. */
export function onlyKnown(options, known) {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  const alike = known.find((name) => name.replaceAll("_", "") === unknown?.replaceAll("_", "").toLowerCase());
  need(!unknown, `${unknown} is no option${alike ? `: did you mean ${alike}?` : ` (known: ${known.join(", ")})`}`);
}

/** The names in a scope, without what all of the service's own begin with. */
export function scopeNames(scope) {
  need(isText(scope), "scope is a text, with spaces between several scopes");
  const names = scope.split(" ").filter(Boolean).map((name) => name.replace(SCOPE, ""));
  need(names.length > 0 && new Set(names).size === names.length, "scope is empty, or has a name twice");
  return names;
}

/** The claims that an answer must have: those that are given, unless the request surely holds others. */
export function expectedClaims(names, claims, query) {
  const known = names.every((name) => Object.hasOwn(SCOPES, name)), asked = query ? "dcql_query" : names;
  const unknown = `the claims of ${asked} are not known: name them (known: ${Object.keys(SCOPES)})`;
  if (claims === undefined) {
    need(known && !query, unknown);
    return names.flatMap((name) => SCOPES[name]);
  }
  need(Array.isArray(claims) && claims.every(isText), "claims is an array of names, such as [\"given_name\"]");
  need(claims.length > 0 && claims.every((claim) => /[^.? ]/.test(claim)), "claims has no name, or an empty one");
  const held = query ? heldBy(query) : names.includes(FIXED) ? SCOPES[FIXED] : [];
  const allAreKnown = query ? held.length > 0 : names.join() === FIXED;
  const more = held.find((claim) => !claims.some((wanted) => isWithin(claim, wanted)));
  need(more === undefined, `claims lacks ${more}, which the request holds: list it, or request less`);
  for (const wanted of claims.filter((claim) => !claim.endsWith("?"))) {
    const isHeld = held.some((claim) => isWithin(claim, wanted));
    need(!allAreKnown || isHeld, `the request does not hold ${wanted} of claims: request more, or leave it out`);
  }
  return [...claims];
}

// The paths of the claims in a query for one credential; none if it names none, or sets to choose from.
function heldBy({ credentials }) {
  const one = Array.isArray(credentials) && credentials.length === 1 && isObject(credentials[0]);
  need(one, "dcql_query must ask for exactly one credential");
  const [{ claims = [], claim_sets: sets }] = credentials;
  if (sets || !Array.isArray(claims)) return [];
  return claims.map(({ path = [] }) => path.filter(isText).join("."));
}

/** A query for credentials (DCQL), which may be given as JSON. */
export function readQuery(query) {
  const error = new TypeError("dcql_query is an object or its JSON");
  const found = isText(query) ? attempt(() => readJson(query), error) : query;
  if (found !== undefined && !isObject(found)) throw error;
  return found;
}

export function checkMode(mode) {
  need(mode === undefined || MODES.includes(mode), `response_mode is none of ${MODES.join(", ")}`);
}

/** The objects to be approved; one may be given without an array. */
export function asList(transactionData) {
  const given = isObject(transactionData) ? [transactionData] : transactionData;
  need(Array.isArray(given) && given.every(isObject), "transactionData is an object, or an array of them");
  return given;
}

/** The JSON of a value. Throws `TypeError` for what JSON would change or leave out, with its place. */
export function asJson(value, place) {
  checkJson(value, place);
  return JSON.stringify(value);
}

function checkJson(value, place) {
  need(!(value instanceof Date), `${place} is a Date: write it as a text, such as "2026-11-30"`);
  if (Array.isArray(value)) return value.forEach((inner, at) => checkJson(inner, `${place}[${at}]`));
  if (isObject(value)) {
    const plain = [Object.prototype, null].includes(Object.getPrototypeOf(value));
    need(plain, `${place} is ${value.constructor?.name}, which JSON does not have`);
    return Object.entries(value).forEach(([name, inner]) => checkJson(inner, `${place}.${name}`));
  }
  const fits = value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value);
  return need(fits, `${place} is ${String(value)} (${typeof value}), which JSON does not have`);
}
