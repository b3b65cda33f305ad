export declare const TOLERANCE = 300;
/** The only presentation, taken apart: a text, or in an object by the ID of its query (OpenID4VP 1.0 §8.1). */
export declare function readPresentation(vpToken: any): {
    token: any;
    jwt: {
        header: any;
        payload: any;
        signed: Buffer<ArrayBuffer>;
        signature: Buffer<ArrayBuffer>;
    };
    binding: {
        header: any;
        payload: any;
        signed: Buffer<ArrayBuffer>;
        signature: Buffer<ArrayBuffer>;
    };
    disclosures: Map<any, any>;
    bound: any;
};
/**
 * The claims of the person, and the status list that says that the presentation is valid. `keyOf` returns the issuer's
 * key for a token, `listAt` the list at an address.
 */
export declare function verify(given: any, request: any, keyOf: any, now: any, listAt: any): Promise<{
    claims: any;
    statusList: any;
}>;
/**
 * Checks `Result.archive()`, or the `evidence` of the service's verification. Throws `Rejected`. All is checked at one
 * time: that of the service's statement or, without one, of the newest signature. Compare `clientId` and `nonce` with
 * your records. `stated`: the service itself states the verification. `claims` are those of each presentation.
 * @param {string} document
 * @param {string | Uint8Array | readonly (string | Uint8Array)[]} root the root certificate (PEM), or all roots that
 *   the service has had
 * @returns {Promise<{ issuer: string, clientId: string, nonce: string, time: number, stated: boolean,
 *   claims: Record<string, unknown>[] }>}
 */
export declare function verifyArchive(document: string, root: string | Uint8Array | readonly (string | Uint8Array)[]): Promise<{
    issuer: string;
    clientId: string;
    nonce: string;
    time: number;
    stated: boolean;
    claims: Record<string, unknown>[];
}>;
