import * as crypto from "node:crypto";
export type Fields = Readonly<Record<string, unknown>> | FormData | URLSearchParams;
/** The person or the service said no, so nobody is verified. */
export declare class Denied extends Error {
    /** The `error` of OAuth 2.0, such as `access_denied`. */
    code: string;
    /** Explains it to a developer; only the characters of RFC 6749 §4.1.2.1. */
    description: string;
    /** Of a request that was refused when it was pushed, to be found by the operator and, in the sandbox, by you. */
    reference: string;
    name: string;
    /** @param {unknown} code @param {unknown} [description] @param {string | null} [requestId] */
    constructor(code: unknown, description?: unknown, requestId?: string | null);
}
/** The answer is forged, changed, too old or for another request. */
export declare class Rejected extends Error {
    /** The name of what failed. */
    check: string;
    name: string;
    /** @param {string} check @param {string} reason */
    constructor(check: string, reason: string);
}
/** The service cannot be reached. Try again: an answer stays valid for five minutes. */
export declare class Unavailable extends Error {
    /** After how many seconds, if the service said so. */
    retryAfter: number;
    /** Of the failed call, for the service's operator; "" if there was no response. */
    reference: string;
    name: string;
    /** @param {string} reason @param {{ cause?: unknown, retryAfter?: number, requestId?: string | null }} [facts] */
    constructor(reason: string, { cause, retryAfter, requestId }?: {
        cause?: unknown;
        retryAfter?: number;
        requestId?: string | null;
    });
}
/** Throws `Rejected` unless the condition holds.
 * @param {unknown} condition @param {string} check @param {string} reason */
export declare function demand(condition: unknown, check: string, reason: string): void;
/** What an action of the platform returns; if it fails, this error is thrown.
 * @template T @param {() => T} action @param {Error} error */
export declare function attempt<T>(action: () => T, error: Error): T;
export declare const hash: (content: any) => NonSharedBuffer;
export declare const digest: (text: any) => string;
export declare const isObject: (value: any) => boolean;
/** The octets of base64url without padding, in its only canonical form. */
export declare function decode(text: any): Buffer<ArrayBuffer>;
/** The value of a JSON text in which no object has a name twice: an object, or what `fits` demands. */
export declare function readJson(text: any, fits?: typeof isObject): any;
/** A compact JWS (RFC 7515 §7.1) that carries an object. No signature is verified. */
export declare function readJwt(text: any): {
    header: any;
    payload: any;
    signed: Buffer<ArrayBuffer>;
    signature: Buffer<ArrayBuffer>;
};
/** Whether the header names this media type, written without `application/` (RFC 7515 §4.1.9). Upper and lower case of
 * ASCII are the same (RFC 2045 §5.1). */
export declare function isOfType({ typ }: {
    typ: any;
}, wanted: any): boolean;
/** Whether `aud` names this recipient, as a text or in an array of texts (RFC 7519 §4.1.3). */
export declare function isFor({ aud }: {
    aud: any;
}, recipient: any): boolean;
/** Verifies type and signature; ES256 is the only algorithm that is accepted. */
export declare function verifySignature({ header, signed, signature }: {
    header: any;
    signature: any;
    signed: any;
}, key: any, typ: any, check: any, typeCheck?: any, algCheck?: any): void;
/** The public key of a JWK on the curve P-256 (RFC 7518 §6.2.1). */
export declare function publicKey(jwk: any, check: any): crypto.KeyObject;
/** A fresh private key for one encrypted answer, as a JWK. */
export declare function newKey(kid: any): {
    kid: any;
    use: string;
    alg: string;
    crv?: string;
    d?: string;
    dp?: string;
    dq?: string;
    e?: string;
    ext?: boolean;
    k?: string;
    key_ops?: string[];
    kty?: string;
    n?: string;
    oth?: crypto.webcrypto.RsaOtherPrimesInfo[];
    p?: string;
    q?: string;
    qi?: string;
    x?: string;
    y?: string;
};
/** The `client_metadata` of a request whose answer is encrypted to this key (OpenID4VP 1.0 §8.3).
 * @param {any} jwk */
export declare const offered: ({ d: _, ...key }: any) => string;
/** The protected header of a compact JWE (RFC 7516 §7.1) of direct key agreement: its second part is empty. */
export declare function jweHeader(compact: any): any;
/** The fields of an answer: an object of them, or `FormData` or `URLSearchParams`, in which none may be there twice.
 * @param {any} fields @returns {Record<string, unknown>} */
export declare function readFields(fields: any): Record<string, unknown>;
/** The `state` of an answer at your response URI (`direct_post`), by which you find its `Pending`.
 * @param {Fields} fields @returns {string} */
export declare function stateOf(fields: Fields): string;
/** The object in a compact JWE that was encrypted to the private key of a JWK, if there is one. */
export declare function decrypt(compact: any, jwk: any): any;
