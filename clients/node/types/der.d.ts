/** What a certificate says. @param {Buffer} der */
export declare function readCertificate(der: Buffer): any;
