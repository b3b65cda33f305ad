/** Status, text and headers of the response within five seconds. No redirect is followed. */
export declare function send(address: any, request?: {}, fetcher?: typeof fetch): Promise<{
    status: number;
    text: string;
    headers: Headers;
}>;
/** The same, but a service that is overloaded or fails is `Unavailable`. */
export declare function call(address: any, request: any, fetcher: any): Promise<{
    status: number;
    text: string;
    headers: Headers;
}>;
/** The JSON object that an address answered with. */
export declare const parsed: (address: any, text: any) => any;
/** For how many seconds a response may be used again. */
export declare function secondsFresh(headers: any): number;
/**
 * A cache of published documents. `anew` fetches one again, but at most every 30 seconds: "" if that is not over. For
 * some seconds after a failed fetch there is no other.
 */
export declare function cached(fetcher: any): (address: any, anew?: boolean) => Promise<any>;
