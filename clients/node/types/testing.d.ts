/**
 * The address to which the browser would be redirected. Throws `Denied` where a person would stay on a page, as with a
 * request that was answered before: its `code` is `no_redirect`, and its `description` has the words of the page. The
 * `code` `invalid_request` means that the call itself is wrong, such as an unknown persona.
 * @param {string} url from `Wallet.request`
 * @param {{ persona?: string, decision?: "share" | "decline", optional?: string[] }} [choices]
 * @returns {Promise<string>}
 */
export declare function holder(url: string, choices?: {
    persona?: string;
    decision?: "share" | "decline";
    optional?: string[];
}): Promise<string>;
/** The fields that the page at your callback would post: those in the fragment of its address.
 * @param {string} address @returns {Record<string, string>} */
export declare const fieldsOf: (address: string) => Record<string, string>;
