/**
 * A request encrypted and authenticated, in at most 3,500 characters, for a cookie; payments are hashes there. `key` is
 * a secret of your server with at least 32 characters. The text says nothing to the browser, which can keep it, however,
 * and send it again: remember `nonce` where an answer may count only once. Throws `TypeError` if the key is too short,
 * or there are too many claims.
 * @param {import("./index.js").Pending} pending @param {string | Uint8Array} key @returns {string}
 */
export declare function sealPending({ transactionData, ...others }: import("./index.js").Pending, key: string | Uint8Array): string;
/**
 * What was sealed with one of the keys: your key, or the new and the old one while you change it. Throws `Rejected` if
 * it was not, or was changed.
 * @param {string | undefined} text @param {...(string | Uint8Array)} keys
 * @returns {import("./index.js").Pending}
 */
export declare function openPending(text: string | undefined, ...keys: (string | Uint8Array)[]): import("./index.js").Pending;
