export { Denied, Rejected, stateOf, Unavailable } from "./jose.js";
export { CALLBACK_PAGE, CALLBACK_SCRIPT } from "./callback-texts.js";
export { openPending, sealPending } from "./sealing.js";
export { verifyArchive } from "./verification.js";
/** The folder of callback.html and callback.js. In a bundle there is none: use the two texts. */
export declare const CALLBACK: string;
export type Pending = {
    issuer: string;
    clientId: string;
    nonce: string;
    claims?: readonly string[];
    transactionData: readonly string[];
    transactionDataHashes?: readonly string[];
    state: string;
    begun: number;
    decryptionKey?: object;
};
export type Result = {
    claims: Record<string, any>;
    vpToken: string;
    archive: (transactionData?: readonly string[]) => string;
};
export type Options = {
    root: string | Uint8Array | readonly (string | Uint8Array)[];
    secret?: string;
    privateKey?: string | Buffer;
    keyId?: string;
    lifetime?: number;
    clock?: () => number;
    fetch?: typeof fetch;
};
/**
 * A request that waits for its answer. Keep it in the person's session on your server, or `sealPending` it for a cookie; use
 * it once. The hashes are in the place of the transaction data once it was in a cookie.
 * @typedef {{ issuer: string, clientId: string, nonce: string, claims?: readonly string[],
 *   transactionData: readonly string[], transactionDataHashes?: readonly string[], state: string, begun: number,
 *   decryptionKey?: object }} Pending
 */
/**
 * A verified presentation. `archive` returns its evidence as a JSON document, which `verifyArchive` checks years later.
 * It is the `evidence` of the service's verification, but without the service's signed statement. After a cookie give
 * it the `transactionData` of the first `Pending`, because the cookie had hashes alone.
 * @typedef {{ claims: Record<string, any>, vpToken: string,
 *   archive: (transactionData?: readonly string[]) => string }} Result
 */
/**
 * `root` is the root certificate (PEM) that the operator gave you; never fetch it from the service. While the service
 * changes its root, it is a text with both certificates, or a list: each counts. With `secret`, your client secret,
 * requests are pushed, so that no address bar holds them. With `privateKey` in its place, whose public half is
 * registered, perhaps under `keyId`, they are also signed, as FAPI demands. `lifetime` is how many seconds a person may take. `fetch`
 * replaces the platform's.
 * @typedef {{ root: string | Uint8Array | readonly (string | Uint8Array)[], secret?: string,
 *   privateKey?: string | Buffer, keyId?: string, lifetime?: number,
 *   clock?: () => number, fetch?: typeof fetch }} Options
 */
/** One relying party at one service. */
export declare class Wallet {
    #private;
    /**
     * @param {string} baseUrl @param {string} clientId
     * @param {string} redirectUri your registered callback or, for `direct_post`, your response URI
     * @param {Options} options
     */
    constructor(baseUrl: string, clientId: string, redirectUri: string, { root, ...options }: Options);
    /**
     * The address to which you redirect the browser, and what `finish` needs. `scope` is one of the four with which every
     * service begins, or several with spaces between them. For others, or with a `dcql_query`, name the `claims` that you
     * expect, such as `age_equal_or_over.21`, or `nationalities?` for one that may be missing. `transactionData` is an
     * array of what is to be approved, or one such object. Throws `TypeError` if `finish` would reject every answer. If
     * the request is pushed, throws `Denied` or `Unavailable` too.
     * @param {{ scope?: string, claims?: readonly string[], transactionData?: object | readonly object[],
     *   login_hint?: string, response_mode?: "fragment" | "direct_post" | "direct_post.jwt",
     *   dcql_query?: string | object, ui_locales?: string }} [asking]
     * @returns {Promise<{ url: string, pending: Pending }>}
     */
    request(asking?: {
        scope?: string;
        claims?: readonly string[];
        transactionData?: object | readonly object[];
        login_hint?: string;
        response_mode?: "fragment" | "direct_post" | "direct_post.jwt";
        dcql_query?: string | object;
        ui_locales?: string;
    }): Promise<{
        url: string;
        pending: Pending;
    }>;
    /**
     * Verifies the fields that were posted to you. Throws `Denied`, `Rejected` or `Unavailable`. Remove `pending` from
     * the session first, so that it is used once.
     * @param {Pending} pending @param {import("./jose.js").Fields} posted
     * @returns {Promise<Result>}
     */
    finish(pending: Pending, posted: import("./jose.js").Fields): Promise<Result>;
    /**
     * Verifies a presentation alone, such as the evidence in a token response of OpenID Connect. Call it within five
     * minutes. `nonce` is the `vp_nonce` of that response. `transactionData` are the strings that you sent. Without
     * `claims` any are accepted.
     * @param {unknown} vpToken
     * @param {{ nonce: string, claims?: readonly string[], transactionData?: readonly string[] }} expected
     * @returns {Promise<Result>}
     */
    verify(vpToken: unknown, expected: {
        nonce: string;
        claims?: readonly string[];
        transactionData?: readonly string[];
    }): Promise<Result>;
}
/** The name of a request in webhooks, `nonce_sha256`.
 * @param {Pending} pending @returns {string} */
export declare const nonceSha256: ({ nonce }: Pending) => string;
/**
 * The content of a webhook. Throws `Rejected` if it is forged or old, `TypeError` if a secret is missing or too short.
 * It may arrive twice, with the same `webhook-id`.
 * @param {Readonly<Record<string, unknown>> | Headers} headers with names in lower case, as Node has them
 * @param {Uint8Array | ArrayBuffer} body as it arrived
 * @param {...string} secrets your secret (`whsec_…`), or the old and the new one while you change them
 * @returns {{ type: string, timestamp: string, data: Record<string, unknown> }}
 */
export declare function readWebhook(headers: Readonly<Record<string, unknown>> | Headers, body: Uint8Array | ArrayBuffer, ...secrets: string[]): {
    type: string;
    timestamp: string;
    data: Record<string, unknown>;
};
