// The three exceptions of this library. None of them repeats a value of a person.

/** The person or the service said no, so nobody is verified. */
export class Denied extends Error {
  /** @param {unknown} code @param {unknown} [description] */
  constructor(code, description = "") {
    super(String(code).replace(/[^a-z_]/g, "").slice(0, 64)); // so that nobody can forge a line of a log
    this.name = "Denied";
    /** The `error` of OAuth 2.0, such as `access_denied`. */
    this.code = this.message;
    /** Explains it to a developer; only the characters of RFC 6749 §4.1.2.1. */
    this.description = String(description).replace(/[^\x20-\x7e]/g, "").slice(0, 300);
  }
}

/** The answer is forged, changed, too old or for another request. */
export class Rejected extends Error {
  /** @param {string} check @param {string} reason */
  constructor(check, reason) {
    super(`${check}: ${reason}`);
    this.name = "Rejected";
    /** The name of what failed. */
    this.check = check;
  }
}

/** The service cannot be reached. Try again: an answer stays valid for five minutes. */
export class Unavailable extends Error {
  name = "Unavailable";
}

/** Throws `Rejected` unless the condition holds.
 * @param {unknown} condition @param {string} check @param {string} reason */
export function demand(condition, check, reason) {
  if (!condition) throw new Rejected(check, reason);
}
