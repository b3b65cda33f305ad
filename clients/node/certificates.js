// The certificates in the header of a token (`x5c`), up to a root that you trust (RFC 5280 §6, RFC 7515 §4.1.6). The
// rules are those of the service.
import { isIP } from "node:net";
import { readCertificate } from "./der.js";
import { attempt, demand, Rejected } from "./jose.js";

const MOST = 5; // certificates below the root
const SIGN = 0, CERTIFY = 5; // bits of a key usage
const PURPOSES = ["551d2500", "2b06010505070302"]; // any, and to prove who somebody is
const DNS = 0x82, DIRECTORY = 0xa4, IP = 0x87; // kinds of names (RFC 5280 §4.2.1.6)
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/; // of a host (RFC 1123 §2.1)
const HOST_OF_URL = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?(\[[0-9a-f:.]+\]|[^/?#:@[\]]+)(?::\d*)?(?:[/?#]|$)/i;
const CURVES = ["prime256v1", "secp384r1", "secp521r1"];
// With SHA-256, SHA-384 and SHA-512: ECDSA (RFC 5758 §3.2), RSA and, with a salt as long as the hash, RSASSA-PSS
// (RFC 4055 §3, §5). Each is the DER of its identifier with its parameters.
const ALGORITHMS = [
  ...["02", "03", "04"].map((hash) => `300a06082a8648ce3d0403${hash}`),
  ...["0b", "0c", "0d"].map((hash) => `300d06092a864886f70d0101${hash}0500`),
  ...[["01", "20"], ["02", "30"], ["03", "40"]].map(([hash, salt]) => pss(`300d06096086480165030402${hash}0500`, salt)),
];

function pss(hash, salt) {
  return `304106092a864886f70d01010a3034a00f${hash}a11c301a06092a864886f70d010108${hash}a2030201${salt}`;
}

/**
 * The root certificates that you trust: one or, while a service changes its root, several. Each text is the content of
 * a file (PEM), which may have several. Throws `TypeError` if one of them cannot be a root; one that has ended may be
 * there.
 * @param {string | Uint8Array | readonly (string | Uint8Array)[]} root
 */
export function readRoots(root) {
  const wrong = new TypeError("root is not a certificate in PEM: give the content of the file");
  const files = Array.isArray(root) ? root : [root];
  const roots = attempt(() => files.flatMap((file) => blocks(Buffer.from(file).toString("latin1"))), wrong);
  if (roots.length === 0) throw wrong;
  const useless = roots.findIndex(({ constraints, usage }) => !constraints?.ca || !usage?.includes(CERTIFY));
  if (useless >= 0) throw new TypeError(`certificate ${useless + 1} of root is not of an authority that may certify`);
  return roots;
}

// The certificates of a file.
function blocks(text) {
  const [, ...begun] = text.split("-----BEGIN CERTIFICATE-----");
  if (begun.length === 0) throw new RangeError("no certificate");
  return begun.map((block) => {
    const [, base64] = /^([\sA-Za-z0-9+/]+=*\s*)-----END CERTIFICATE-----/.exec(block) ?? [];
    return readCertificate(Buffer.from(base64 ?? "", "base64"));
  });
}

/** The key of the first certificate in `x5c`, if the chain leads to a root and is for the issuer's host. */
export function issuerKey({ header: { x5c } }, issuer, roots, now) {
  const check = "certificate-chain", unreadable = new Rejected(check, "a certificate cannot be read");
  demand(Array.isArray(x5c) && x5c.length > 0 && x5c.length <= MOST, "x5c", "there is no chain of certificates");
  const chain = attempt(() => x5c.map(certificate), unreadable), [leaf] = chain;
  const names = chain.map(({ subject }) => subject);
  const linked = chain.slice(1).every((upper, at) => isIssuedBy(chain[at], upper));
  demand(linked && new Set(names).size === names.length, check, "each must certify the one before");
  const trusted = attempt(() => maySign(leaf) && isTrusted(chain, 0, roots, Math.floor(now)), unreadable);
  demand(trusted, check, "the certificates do not lead to a root; is the root right?");
  demand(attempt(() => isForHostOf(issuer, leaf), unreadable), check, "the certificate is for another host");
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = leaf.publicKey;
  demand(type === "ec" && details?.namedCurve === "prime256v1", "certificate-key", "the key is not on the curve P-256");
  return leaf.publicKey;
}

// A certificate in padded standard base64, in its only canonical form.
function certificate(text) {
  const der = Buffer.from(text, "base64");
  demand(der.toString("base64") === text, "x5c", "a certificate is not canonical base64");
  return readCertificate(der);
}

const maySign = ({ usage, constraints, nameConstraints, unknown }) =>
  usage?.includes(SIGN) && !usage.includes(CERTIFY) && !constraints?.ca && !nameConstraints && !unknown;

// Whether the certificates up to a place lead to a root. The one there is the last that is known to be good below it.
function isTrusted(chain, place, roots, now) {
  const last = chain[place], below = chain.slice(0, place + 1);
  const isTime = ({ notBefore, notAfter }) => notBefore <= now && now <= notAfter;
  if (!isTime(last)) return false;
  const isAbove = (upper) =>
    isTime(upper) && mayCertify(upper, place) && certified(last, upper) && allows(upper, below);
  if (roots.some(isAbove)) return true;
  const next = chain[place + 1];
  return next !== undefined && isAbove(next) && isTrusted(chain, place + 1, roots, now);
}

// Whether it is an authority with this many others below it.
function mayCertify({ constraints, usage, purposes, unknown, publicKey }, below) {
  const { modulusLength = 0, namedCurve } = publicKey.asymmetricKeyDetails ?? {}, type = publicKey.asymmetricKeyType;
  const strong = type === "ec" ? CURVES.includes(namedCurve) : type === "rsa" && modulusLength >= 2048;
  const deep = constraints?.pathLength !== undefined && constraints.pathLength < below;
  const fits = purposes === undefined || purposes.some((each) => PURPOSES.includes(each));
  return strong && constraints?.ca && usage?.includes(CERTIFY) && fits && !deep && !unknown;
}

// By name and, if both are there, by the identifiers of keys (RFC 5280 §4.2.1.1).
const isIssuedBy = ({ issuer, issuersKey }, { subject, ownKey = issuersKey }) =>
  issuer === subject && [undefined, ownKey].includes(issuersKey);

const certified = (lower, upper) => isIssuedBy(lower, upper) && ALGORITHMS.includes(lower.algorithm)
  && lower.x509.verify(upper.publicKey);

// Whether the names of all below are within the name constraints (RFC 5280 §4.2.1.10).
function allows(upper, below) {
  const { permitted, excluded } = upper.nameConstraints ?? { permitted: [], excluded: [] };
  // Those on directory names are about the subject of each certificate, and we cannot apply them.
  if ([...permitted, ...excluded].some(({ tag }) => tag === DIRECTORY)) return false;
  const bound = [...below, upper].filter(({ issuer, subject }, at) => at === 0 || issuer !== subject);
  return bound.flatMap(({ names = [] }) => names).every((name) => {
    const [wanted, barred] = [permitted, excluded].map((bases) => bases.filter(({ tag }) => tag === name.tag));
    const fits = wanted.length === 0 || wanted.some((base) => isWithin(name, base, false));
    return fits && !barred.some((base) => isWithin(name, base, true));
  });
}

// Whether a name is within a constraint or, if it stands for several, whether all are; or `any` of them.
function isWithin(name, base, any) {
  if (name.tag === IP) return isInNetwork(name.content, base.content);
  demand(name.tag === DNS, "certificate-chain", "a constraint on names of another kind");
  const [host, domain] = [name, base].map(({ content }) => content.toString("latin1").toLowerCase());
  const several = host.startsWith("*."), own = several ? host.slice(2) : host;
  demand(isHost(own) && isHost(domain), "certificate-chain", "a constraint is no name");
  const isOneOf = several && any && own === domain.slice(domain.indexOf(".") + 1);
  return own === domain || own.endsWith(`.${domain}`) || isOneOf;
}

const isHost = (name) => name.length <= 253 && name.split(".").every((label) => LABEL.test(label));

function isInNetwork(address, network) {
  const half = network.length / 2, mask = network.subarray(half);
  const bits = [...mask].map((octet) => octet.toString(2).padStart(8, "0")).join("");
  demand((half === 4 || half === 16) && /^1*0*$/.test(bits), "certificate-chain", "a constraint is no network");
  return address.length === half && address.every((octet, at) => ((octet ^ network[at]) & mask[at]) === 0);
}

// Whether a certificate names the host of an address, without a wildcard.
function isForHostOf(url, { names = [] }) {
  const host = HOST_OF_URL.exec(url)?.[1].toLowerCase() ?? "";
  demand(host, "certificate-chain", "the issuer is no address");
  const kind = isIP(host.replace(/^\[|\]$/g, "")) ? IP : DNS;
  const named = names.filter(({ tag }) => tag === kind).map(({ content }) => content);
  if (kind === DNS) return named.some((octets) => octets.toString("latin1").toLowerCase() === host);
  return named.some((octets) => asInUrl(octets) === new URL(`http://${host}`).hostname);
}

function asInUrl(octets) {
  if (octets.length === 4) return octets.join(".");
  return new URL(`http://[${octets.toString("hex").match(/.{4}/g)?.join(":")}]`).hostname;
}
