// Reads the answer that came back behind the `#` (OpenID4VP 1.0 §8.1, OAuth 2.0 Multiple Response Types §2), or
// that was posted (§8.2, §8.3).

import { decrypt } from "./jwe.js";
import { isObject } from "./encoding.js";

const LIMIT = 65536;

/**
 * @param {string} fragment  location.hash
 * @returns {object|null}    {presentation, queryIds, state, iss} or {error, description, state, iss};
 *                           null when there is no answer. Throws for an answer that breaks the rules.
 */
export function readAnswer(fragment) {
  const text = fragment.replace(/^#/, "");
  return text ? answerIn(fieldsOf(text)) : null;
}

/**
 * @param {string} form             the body that was posted
 * @param {object|null} privateKey  the private half of the key in client_metadata
 * @returns {Promise<object>}       as `readAnswer`
 */
export async function readPosted(form, privateKey) {
  const fields = fieldsOf(form);
  if (!privateKey || "error" in fields) return answerIn(fields); // errors are not encrypted
  if (!fields.response) throw new Error("it was to be encrypted, and is not");
  const members = await decrypt(fields.response, privateKey);
  const { vp_token: vpToken } = members;
  return answerIn({ ...members, vp_token: isObject(vpToken) ? JSON.stringify(vpToken) : vpToken });
}

function fieldsOf(text) {
  if (text.length > LIMIT) throw new Error("the answer is far too long");
  // Form encoding: `+` and %20 both mean a space. URLSearchParams reads it; decodeURIComponent would keep `+`.
  const fields = [...new URLSearchParams(text)];
  const answer = Object.fromEntries(fields);
  if (Object.keys(answer).length < fields.length) throw new Error("a parameter is there twice");
  return answer;
}

function answerIn(answer) {
  const { state, iss } = answer;
  if ("error" in answer && "vp_token" in answer) throw new Error("it is an answer and an error at once");
  if ("error" in answer) return { error: answer.error, description: answer.error_description ?? "", state, iss };
  if (!answer.vp_token) throw new Error("there is neither a vp_token nor an error in it");
  return { ...readToken(answer.vp_token), state, iss };
}

/** Two wire formats: the SD-JWT VC itself, or a JSON object of lists by query (OpenID4VP 1.0 §8.1). */
function readToken(vpToken) {
  if (!vpToken.startsWith("{")) return { presentation: vpToken, queryIds: null };
  let byQuery;
  try {
    byQuery = JSON.parse(vpToken);
  } catch {
    throw new Error("vp_token begins like a JSON object and is none");
  }
  const queryIds = Object.keys(byQuery);
  const lists = Object.values(byQuery);
  if (!lists.length || lists.some((list) => !Array.isArray(list) || list.length !== 1 || typeof list[0] !== "string")) {
    throw new Error("vp_token must hold a list of one presentation for each query");
  }
  return { presentation: lists[0][0], queryIds };
}

/**
 * Whether this is the answer to our request, before looking at the token. The same form of result as
 * `verifyPresentation`.
 *
 * @param {object} request  state and wireFormat ("string" or "openid4vp-1.0"), as remembered
 */
export function checkAnswer(answer, request, issuer) {
  const isByQuery = answer.queryIds !== null;
  const wantsByQuery = request.wireFormat !== "string";
  const wantedIss = wantsByQuery && !request.privateKey ? issuer : undefined; // a key was for one issuer alone
  return [
    // RFC 6749 §10.12: an answer to no request of this browser could put another person into its session.
    { id: "state", passed: answer.state === request.state, detail: answer.state ?? "no state" },
    {
      id: "wire-format",
      passed: isByQuery === wantsByQuery,
      detail: isByQuery ? `a JSON object for ${answer.queryIds.join(", ")}` : "the token itself",
    },
    // RFC 9207 §2.4: where `iss` is used, it must be there and equal; the contract has no place for it.
    { id: "response-iss", passed: answer.iss === wantedIss, detail: answer.iss ?? "not used here" },
  ];
}
