export declare const SCOPE = "urn:service:params:scope:verifiable-credentials:";
/** Throws `TypeError` unless the condition holds.
 * @param {unknown} condition @param {string} reason */
export declare function need(condition: unknown, reason: string): void;
/** Throws `TypeError` for an option that is not known, such as a name that is spelt wrongly. */
export declare function onlyKnown(options: any, known: any): void;
/** The names in a scope, without what all of the service's own begin with. */
export declare function scopeNames(scope: any): any;
/** The claims that an answer must have: those that are given, unless the request surely holds others. */
export declare function expectedClaims(names: any, claims: any, query: any): any;
/** A query for credentials (DCQL), which may be given as JSON. */
export declare function readQuery(query: any): any;
export declare function checkMode(mode: any): void;
/** The objects to be approved; one may be given without an array. */
export declare function asList(transactionData: any): any;
/** The JSON of a value. Throws `TypeError` for what JSON would change or leave out, with its place. */
export declare function asJson(value: any, place: any): string;
