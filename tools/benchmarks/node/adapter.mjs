// Keeps the state of oidc-provider in one table of PostgreSQL. Every statement is prepared once per connection.

const TABLE = `
  CREATE TABLE IF NOT EXISTS state (
    kind text NOT NULL, -- the model: Session, Interaction, Grant, AuthorizationCode, …
    id text NOT NULL,
    payload jsonb NOT NULL,
    uid text,
    grant_id text,
    user_code text,
    expires_at timestamptz,
    consumed_at timestamptz,
    PRIMARY KEY (kind, id)
  );
  CREATE INDEX IF NOT EXISTS state_by_uid ON state (uid) WHERE uid IS NOT NULL;
  CREATE INDEX IF NOT EXISTS state_by_grant ON state (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS state_by_user_code ON state (user_code) WHERE user_code IS NOT NULL;
  CREATE INDEX IF NOT EXISTS state_by_expiry ON state (expires_at);
`;
const FOUND = "SELECT payload, consumed_at FROM state WHERE (expires_at IS NULL OR expires_at > now()) AND kind = $1";
const STATEMENTS = {
  upsert: `
    INSERT INTO state (kind, id, payload, uid, grant_id, user_code, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
    ON CONFLICT (kind, id) DO UPDATE SET payload = excluded.payload, uid = excluded.uid,
      grant_id = excluded.grant_id, user_code = excluded.user_code, expires_at = excluded.expires_at`,
  find: `${FOUND} AND id = $2`,
  findByUid: `${FOUND} AND uid = $2`,
  findByUserCode: `${FOUND} AND user_code = $2`,
  consume: "UPDATE state SET consumed_at = now() WHERE kind = $1 AND id = $2",
  destroy: "DELETE FROM state WHERE kind = $1 AND id = $2",
  // Without `kind`: with a grant, everything goes that was issued from it.
  revokeByGrantId: "DELETE FROM state WHERE grant_id = $1",
};

// The adapter class for oidc-provider; `pool` is a pool of `pg`. The table is made if it is missing.
export async function adapterOn(pool) {
  await pool.query(TABLE);
  const run = (name, ...values) => pool.query({ name, text: STATEMENTS[name], values });

  return class Adapter {
    constructor(kind) {
      this.kind = kind;
    }

    async upsert(id, payload, expiresIn) {
      await run("upsert", this.kind, id, payload, payload.uid, payload.grantId, payload.userCode, expiresIn);
    }

    async #found(statement, value) {
      const { rows } = await run(statement, this.kind, value);
      if (rows.length === 0) return undefined;
      const [{ payload, consumed_at: consumed }] = rows;
      return consumed ? { ...payload, consumed: Math.floor(consumed / 1000) } : payload;
    }

    find(id) {
      return this.#found("find", id);
    }

    findByUid(uid) {
      return this.#found("findByUid", uid);
    }

    findByUserCode(userCode) {
      return this.#found("findByUserCode", userCode);
    }

    async consume(id) {
      await run("consume", this.kind, id);
    }

    async destroy(id) {
      await run("destroy", this.kind, id);
    }

    async revokeByGrantId(grantId) {
      await run("revokeByGrantId", grantId);
    }
  };
}
