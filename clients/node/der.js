// Reads certificates (RFC 5280 §4, DER of X.690 §10), because node:crypto tells neither their extensions nor all that
// is wrong with them. Whatever is not as it must be throws.
import { X509Certificate } from "node:crypto";

const BOOLEAN = 0x01, INTEGER = 0x02, BITS = 0x03, OCTETS = 0x04, OID = 0x06, SEQUENCE = 0x30, SET = 0x31;
const UTC_TIME = 0x17, GENERALIZED_TIME = 0x18, CONSTRUCTED = 0x20;
const VERSION_3 = "a003020102"; // only this one has extensions
const LONGEST_SERIAL = 21; // octets, with a zero in front
const AGREEMENT = 4, ENCIPHER_ONLY = 7, DECIPHER_ONLY = 8; // bits of a key usage
// Kinds of names (RFC 5280 §4.2.1.6), and those of them that are a text in ASCII.
const OTHER_NAME = 0xa0, EMAIL = 0x81, DNS = 0x82, DIRECTORY = 0xa4, URI = 0x86, IP = 0x87, NUMBER = 0x88;
const TEXTS = [EMAIL, DNS, URI];

function check(condition) {
  if (!condition) throw new RangeError("this is not DER");
}

const hex = (octets) => octets.toString("hex");

/** The element that begins at a place: its tag, its content, all of it, and where it ends. */
function element(octets, begin = 0) {
  const [tag, first] = octets.subarray(begin, begin + 2), size = first > 0x80 ? first & 0x7f : 0;
  const from = begin + 2 + size;
  check(first !== undefined && first !== 0x80 && (tag & 0x1f) < 0x1f && size <= 4 && from <= octets.length);
  const length = size ? octets.readUIntBE(begin + 2, size) : first, end = from + length;
  const shortest = !size || (length > 0x7f && octets[begin + 2] > 0);
  check(end <= octets.length && shortest);
  const found = { tag, content: octets.subarray(from, end), whole: octets.subarray(begin, end), end };
  if (tag & CONSTRUCTED) children(found);
  return found;
}

/** The elements inside a constructed one, perhaps of one certain tag. */
function children({ tag, content }, expected = tag) {
  const found = [];
  check(tag === expected && tag & CONSTRUCTED);
  for (let at = 0; at < content.length; at = found.at(-1).end) found.push(element(content, at));
  return found;
}

/** The only element in octets, of this tag. */
function only(octets, tag) {
  const found = element(octets);
  check(found.end === octets.length && found.tag === tag);
  return found;
}

const sequence = (octets) => children(only(octets, SEQUENCE));
const isTrue = ({ tag, content }) => tag === BOOLEAN && hex(content) === "ff";

/** A whole number that is not negative, in its shortest form. */
function wholeNumber({ tag, content }) {
  check(tag === INTEGER && content.length > 0 && content[0] < 0x80);
  check(content.length === 1 || content[0] > 0 || content[1] > 0x7f);
  return BigInt(`0x${hex(content)}`);
}

/** Seconds since 1970 (RFC 5280 §4.1.2.5: until 2049 with two digits of the year, in UTC, with seconds). */
function time({ tag, content }) {
  const text = content.toString("latin1"), century = text < "50" ? "20" : "19";
  check((tag === UTC_TIME && /^\d{12}Z$/.test(text)) || (tag === GENERALIZED_TIME && /^\d{14}Z$/.test(text)));
  const full = tag === UTC_TIME ? century + text : text, [year, ...parts] = full.match(/^\d{4}|\d\d/g) ?? [];
  const [month, day, ...clock] = parts, written = `${year}-${month}-${day}T${clock.join(":")}.000Z`;
  const moment = new Date(written);
  check(!Number.isNaN(moment.getTime()) && moment.toISOString() === written); // not the 31st of February
  check(tag === UTC_TIME || year < "1950" || year >= "2050");
  return moment.getTime() / 1000;
}

/** The numbers of the bits that are set in a BIT STRING. */
function bits(octets) {
  const [unused, ...others] = only(octets, BITS).content, last = others.at(-1) ?? 0;
  check(unused < 8 && (others.length > 0 || unused === 0) && (last & (2 ** unused - 1)) === 0);
  const setIn = (octet) => [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => octet & (0x80 >> bit));
  return others.flatMap((octet, at) => setIn(octet).map((bit) => at * 8 + bit));
}

/** What a key may do. Only a key that agrees on others can be one for half of that (RFC 5280 §4.2.1.3). */
function usage(octets) {
  const found = bits(octets);
  check(found.includes(AGREEMENT) || !(found.includes(ENCIPHER_ONLY) || found.includes(DECIPHER_ONLY)));
  return found;
}

/** Whether it is an authority, and how many others may be below it. What is the default is left out. */
function basicConstraints(octets) {
  const parts = sequence(octets), ca = parts.length > 0 && isTrue(parts[0]);
  check(parts.length === 0 || (ca && parts.length <= 2));
  const pathLength = parts.length === 2 ? wholeNumber(parts[1]) : undefined;
  check(pathLength === undefined || pathLength < 2n ** 64n);
  return { ca, pathLength };
}

/** The bases of the permitted and of the excluded subtrees. */
function nameConstraints(octets) {
  const parts = sequence(octets), tags = parts.map(({ tag }) => tag).join();
  check(["160", "161", "160,161"].includes(tags));
  const bases = (wanted) => parts.filter(({ tag }) => tag === wanted)
    .flatMap((subtrees) => children(subtrees))
    .map((subtree) => children(subtree, SEQUENCE)[0]);
  const found = { permitted: bases(0xa0), excluded: bases(0xa1) };
  check([...found.permitted, ...found.excluded].every((base) => base !== undefined));
  check(parts.every(({ content }) => content.length > 0));
  return found;
}

const identifiers = (found) => found.every(({ tag, content }) => tag === OID && isIdentifier(content));
// Each number ends in an octet below 0x80, and does not begin with 0x80, which would be a zero in front.
const isIdentifier = (octets) => octets.length > 0 && octets.at(-1) < 0x80
  && octets.every((octet, at) => octet !== 0x80 || (at > 0 && octets[at - 1] >= 0x80));

function purposes(octets) {
  const found = sequence(octets);
  check(found.length > 0 && identifiers(found));
  return found.map(({ content }) => hex(content));
}

/** Names of a subject or an issuer, each as its kind demands. */
function names(octets) {
  const found = sequence(octets);
  check(found.every(isName));
  return found;
}

function isName({ tag, content }) {
  if (TEXTS.includes(tag)) return content.every((octet) => octet < 0x80);
  if (tag === IP) return content.length === 4 || content.length === 16;
  if (tag === NUMBER) return isIdentifier(content);
  if (tag === DIRECTORY) return children(only(content, SEQUENCE)).every((part) => part.tag === SET);
  const [kind, value, ...others] = tag === OTHER_NAME ? children({ tag, content }) : [];
  return kind !== undefined && identifiers([kind]) && value?.tag === 0xa0 && others.length === 0;
}

/** The identifier of the issuer's key, if it is there (RFC 5280 §4.2.1.1). */
function issuersKey(octets) {
  const parts = sequence(octets), tags = parts.map(({ tag }) => tag);
  check(tags.every((tag, at) => [0x80, 0xa1, 0x82].includes(tag) && (at === 0 || (tags[at - 1] & 3) < (tag & 3))));
  return tags[0] === 0x80 ? hex(parts[0].content) : undefined;
}

// What we understand, by the hexadecimal digits of its identifier, and how it is read.
const EXTENSIONS = {
  "551d0f": ["usage", usage], "551d11": ["names", names], "551d13": ["constraints", basicConstraints],
  "551d1e": ["nameConstraints", nameConstraints], "551d25": ["purposes", purposes],
  "551d0e": ["ownKey", (octets) => hex(only(octets, OCTETS).content)], "551d23": ["issuersKey", issuersKey],
  "2b06010505070101": ["access", sequence],
};
// What we do not understand, but everybody can read.
const READABLE = { "551d12": names, "551d1f": sequence };

/** The extensions that we understand, and whether there is a critical one that we do not. */
function readExtensions(list) {
  const found = /** @type {any} */ ({ unknown: false }), seen = new Set();
  for (const parts of list.map((each) => children(each, SEQUENCE))) {
    const identifier = parts[0], value = parts.at(-1), critical = parts.length === 3;
    check(identifier?.tag === OID && value.tag === OCTETS && (parts.length === 2 || (critical && isTrue(parts[1]))));
    const oid = hex(identifier.content), [name, read = READABLE[oid] ?? (() => true)] = EXTENSIONS[oid] ?? [];
    check(!seen.has(oid));
    seen.add(oid);
    const content = read(value.content);
    if (name) found[name] = content;
    else found.unknown ||= critical;
  }
  return found;
}

/** What a certificate says. @param {Buffer} der */
export function readCertificate(der) {
  const [signed, algorithm, signature, ...behind] = sequence(der);
  check(behind.length === 0 && signature?.tag === BITS && signature.content[0] === 0);
  const [version, serial, sameAlgorithm, issuer, validity, subject, key, ...others] = children(signed, SEQUENCE);
  const extended = others.at(-1)?.tag === 0xa3 ? children(others.pop()) : [];
  check(extended.length <= 1 && others.every(({ tag }) => tag === 0x81 || tag === 0x82)); // identifiers of no use
  check(hex(version.whole) === VERSION_3 && serial.content.length <= LONGEST_SERIAL && key.tag === SEQUENCE);
  wholeNumber(serial);
  check(sameAlgorithm.whole.equals(algorithm.whole) && issuer.content.length > 0);
  check([issuer, subject].flatMap((name) => children(name, SEQUENCE)).every(({ tag }) => tag === SET));
  const times = children(validity, SEQUENCE).map(time), x509 = new X509Certificate(der);
  check(times.length === 2);
  return {
    x509, publicKey: x509.publicKey, algorithm: hex(algorithm.whole),
    notBefore: times[0], notAfter: times[1], issuer: hex(issuer.whole), subject: hex(subject.whole),
    ...readExtensions(extended.flatMap((list) => children(list, SEQUENCE))),
  };
}
