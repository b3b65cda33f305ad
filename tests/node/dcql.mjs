// A second implementation evaluates DCQL: given {"vct", "authority", "claims", "queries"} on standard input, it
// prints for every query whether it can be satisfied, and per credential query the index of the claim set that
// would be returned, or null.
import { readFileSync } from "node:fs";
import { DcqlQuery } from "dcql";

const { vct, authority, claims, queries } = JSON.parse(readFileSync(0, "utf8"));
const credential = {
  credential_format: "dc+sd-jwt",
  vct,
  claims,
  cryptographic_holder_binding: true,
  authority: { type: "aki", values: [authority] },
};

function answer(text) {
  const query = DcqlQuery.parse(JSON.parse(text));
  DcqlQuery.validate(query);
  const found = DcqlQuery.query(query, [credential]);
  const sets = query.credentials.map(({ id }) => {
    const match = found.credential_matches[id];
    if (!match.success) return null;
    return match.valid_credentials[0].claims.valid_claim_sets[0].claim_set_index ?? 0;
  });
  return { satisfied: found.can_be_satisfied, sets };
}

console.log(JSON.stringify(queries.map(answer)));
