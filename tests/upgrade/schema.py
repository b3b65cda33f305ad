"""The schema according to PostgreSQL's catalogue, independent of the order of columns."""

import re

import psycopg

COLUMNS = """
    SELECT class.relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
           pg_get_expr(adbin, adrelid), pg_get_serial_sequence(quote_ident(class.relname), attname)
    FROM pg_attribute JOIN pg_class AS class ON class.oid = attrelid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
"""
CONSTRAINTS = """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
"""
INDEXES = """
    SELECT pg_get_indexdef(indexrelid), indisvalid, indisunique FROM pg_index
    JOIN pg_class AS class ON class.oid = indexrelid WHERE relnamespace = 'public'::regnamespace
"""
TRIGGERS = "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
FUNCTIONS = "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"


# After a dump and restore PostgreSQL prints the casts of a list of texts differently.
CASTS = (
    (re.compile(r"\('([^']*)'::character varying\)::text"), r"'\1'"),
    (re.compile(r"'([^']*)'::character varying"), r"'\1'"),
    (re.compile(r"\(ARRAY\[([^]]*)\]\)::text\[\]"), r"ARRAY[\1]"),
)


def schema(url: str) -> dict[str, set[tuple[object, ...]]]:
    """Columns, constraints, indexes, triggers and functions of the database."""
    parts = {
        "columns": COLUMNS,
        "constraints": CONSTRAINTS,
        "indexes": INDEXES,
        "triggers": TRIGGERS,
        "functions": FUNCTIONS,
    }
    with psycopg.connect(url) as database:
        return {
            part: {tuple(_without_casts(value) for value in row) for row in database.execute(query)}
            for part, query in parts.items()
        }


def _without_casts(value: object) -> object:
    if isinstance(value, str):
        for cast, literal in CASTS:
            value = cast.sub(literal, value)
    return value
