// Reads just enough of X.509 (RFC 5280, DER) to check the chain of a signing key in a browser.
//
// On a server, use your platform's certificate library instead: it also checks key usage, names and
// revocation. This code supports ECDSA on P-256 and P-384 only, which these chains use.

const CURVES = { "2a8648ce3d030107": "P-256", "2b81040022": "P-384" };
const HASHES = { "2a8648ce3d040302": "SHA-256", "2a8648ce3d040303": "SHA-384" };
const COMMON_NAME = "550403";
const BASIC_CONSTRAINTS = "551d13";

/**
 * RFC 5280 §6.1: every certificate in date, issued and signed by the next one, which is an authority, and
 * the last one signed by the root. Returns the names on the way, or throws.
 *
 * @param {Uint8Array[]} chain  DER, leaf first, without the root
 * @param {Uint8Array} root     DER of a root that you trusted before you received the token
 */
export async function verifyChain(chain, root, now) {
  const certificates = [...chain, root].map(readCertificate);
  for (const certificate of certificates) {
    if (now < certificate.notBefore || now > certificate.notAfter) {
      throw new Error(`the certificate of ${certificate.subject} is out of date`);
    }
  }
  for (let i = 0; i + 1 < certificates.length; i += 1) {
    const [certificate, issuer] = [certificates[i], certificates[i + 1]];
    if (hex(certificate.issuerName) !== hex(issuer.subjectName) || !(await isSignedBy(certificate, issuer))) {
      throw new Error(`the certificate of ${certificate.subject} was not signed by ${issuer.subject}`);
    }
    if (!issuer.isAuthority) throw new Error(`${issuer.subject} may not issue certificates`);
  }
  return certificates.map((certificate) => certificate.subject).join(" ← ");
}

/** RFC 5280 §4.1: the fields needed here. Throws for anything that is not such a certificate. */
export function readCertificate(der) {
  const [toBeSigned, algorithm, signature] = children(read(der));
  const fields = children(toBeSigned).filter((field) => field.tag !== 0xa0); // the version
  const [, , issuer, validity, subject, keyInfo] = fields;
  const [notBefore, notAfter] = children(validity).map(readTime);
  const curve = CURVES[hex(children(children(keyInfo)[0])[1].content)];
  const hash = HASHES[hex(children(algorithm)[0].content)];
  if (!curve || !hash) throw new Error("a certificate with another algorithm than ECDSA on P-256 or P-384");
  return {
    subject: commonName(subject),
    subjectName: subject.bytes,
    issuerName: issuer.bytes,
    notBefore,
    notAfter,
    isAuthority: isAuthority(fields),
    toBeSigned: toBeSigned.bytes,
    signature: signature.content.subarray(1), // after the count of unused bits
    hash,
    curve,
    publicKey: () =>
      crypto.subtle.importKey("spki", keyInfo.bytes, { name: "ECDSA", namedCurve: curve }, true, ["verify"]),
  };
}

/** X.509 writes an ECDSA signature as SEQUENCE {r, s}; WebCrypto wants both numbers at full width. */
async function isSignedBy(certificate, issuer) {
  const width = issuer.curve === "P-256" ? 32 : 48;
  const raw = new Uint8Array(2 * width);
  children(read(certificate.signature)).forEach((number, i) => {
    const digits = number.content.subarray(number.content.findIndex((byte) => byte !== 0));
    if (digits.length > width) throw new Error("a certificate's signature is too long for its key");
    raw.set(digits, (i + 1) * width - digits.length);
  });
  const algorithm = { name: "ECDSA", hash: certificate.hash };
  return crypto.subtle.verify(algorithm, await issuer.publicKey(), raw, certificate.toBeSigned);
}

/** RFC 5280 §4.2.1.9: basicConstraints with `cA` TRUE. */
function isAuthority(fields) {
  const wrapped = fields.find((field) => field.tag === 0xa3);
  const extensions = wrapped ? children(children(wrapped)[0]).map(children) : [];
  const constraints = extensions.find(([name]) => hex(name.content) === BASIC_CONSTRAINTS);
  const first = constraints && children(read(constraints.at(-1).content))[0];
  return first?.tag === 0x01 && first.content[0] === 0xff;
}

function commonName(name) {
  const attributes = children(name).flatMap(children).map(children);
  const found = attributes.filter(([type]) => hex(type.content) === COMMON_NAME).at(-1);
  return found ? new TextDecoder().decode(found[1].content) : "a certificate without a name";
}

/** UTCTime has two digits of the year, and 50 to 99 are in the last century (RFC 5280 §4.1.2.5). */
function readTime({ tag, content }) {
  const digits = new TextDecoder().decode(content);
  const full = tag === 0x17 ? (digits < "50" ? "20" : "19") + digits : digits;
  const [, year, month, day, hour, minute, second] = full.match(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/).map(Number);
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second));
}

/** One DER element (X.690 §8.1): tag, length, content. `bytes` is all of it, as it was signed. */
function read(data, start = 0) {
  let length = data[start + 1];
  let begin = start + 2;
  if (length > 0x80) {
    begin += length & 0x7f;
    length = data.subarray(start + 2, begin).reduce((sum, byte) => sum * 256 + byte, 0);
  }
  const end = begin + length;
  if (!(end <= data.length)) throw new Error("a certificate ends too early");
  return { tag: data[start], content: data.subarray(begin, end), bytes: data.subarray(start, end), end };
}

function children({ tag, content }) {
  if (!(tag & 0x20)) throw new Error("a certificate is not built as expected");
  const found = [];
  for (let at = 0; at < content.length; at = found.at(-1).end) found.push(read(content, at));
  return found;
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
