// A second implementation checks evidence by the steps of docs/protocol.md: jose reads the statement, Node the
// certificates. Given {"evidence", "root" (PEM)} on standard input, it prints what was stated; or fails, saying why.
import { X509Certificate, createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { compactVerify, decodeProtectedHeader, importX509 } from "jose";

const { evidence, root } = JSON.parse(readFileSync(0, "utf8"));

function leafOf(token, at) {
  const chain = decodeProtectedHeader(token).x5c.map((text) => new X509Certificate(Buffer.from(text, "base64")));
  [...chain, new X509Certificate(root)].forEach((certificate, position, all) => {
    const issuer = all[position + 1] ?? certificate;
    const trusted = certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
    const inTime = new Date(certificate.validFrom) <= at && at < new Date(certificate.validTo);
    if (!trusted || !inTime) throw new Error(`not trusted: ${certificate.subject}`);
  });
  return chain[0];
}

async function read(token, typ, at) {
  const unverified = JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
  const leaf = leafOf(token, at ?? new Date(unverified.iat * 1000));
  const host = new URL(unverified.iss ?? unverified.sub).hostname;
  if (!leaf.checkHost(host) && !leaf.checkIP(host)) throw new Error(`a certificate for another host than ${host}`);
  const key = await importX509(leaf.toString(), "ES256");
  const { payload, protectedHeader } = await compactVerify(token, key, { algorithms: ["ES256"] });
  if (protectedHeader.typ !== typ) throw new Error(`typ is ${protectedHeader.typ}`);
  return JSON.parse(new TextDecoder().decode(payload));
}

try {
  const stated = await read(evidence.statement, "verification-statement+jwt");
  for (const [name, hashes] of Object.entries(stated.sha256)) {
    const found = evidence[name].map((text) => createHash("sha256").update(text).digest("base64url"));
    if (JSON.stringify(found) !== JSON.stringify(hashes)) throw new Error(`other ${name}`);
  }
  const at = new Date(stated.iat * 1000);
  for (const list of evidence.status_lists) await read(list, "statuslist+jwt", at);
  console.log(JSON.stringify(stated));
} catch (error) {
  console.error(String(error.message ?? error));
  process.exitCode = 1;
}
