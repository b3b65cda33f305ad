/** The private key whose public half is registered for a client. Throws `TypeError` if it is not on P-256. */
export declare function clientKey(pem: any, keyId: any): (parameters: any, issuer: any, now: any) => {
    client_id: any;
    client_assertion_type: string;
    client_assertion: string;
    request: string;
};
