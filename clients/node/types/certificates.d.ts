/**
 * The root certificates that you trust: one or, while a service changes its root, several. Each text is the content of
 * a file (PEM), which may have several. Throws `TypeError` if one of them cannot be a root; one that has ended may be
 * there.
 * @param {string | Uint8Array | readonly (string | Uint8Array)[]} root
 */
export declare function readRoots(root: string | Uint8Array | readonly (string | Uint8Array)[]): any[];
/** The key of the first certificate in `x5c`, if the chain leads to a root and is for the issuer's host. */
export declare function issuerKey({ header: { x5c } }: {
    header: {
        x5c: any;
    };
}, issuer: any, roots: any, now: any): any;
