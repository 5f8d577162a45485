-- What every server needs: what was committed, what is owed, who runs, and whose turn a chore is.

-- One row a transaction: the documents that it may have altered and the sets that hold them. at grows with the id,
-- so that it needs no index of its own, which every commit would have to write.
CREATE TABLE changes (
    id {{.Serial}},
    at {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL
){{.Table}};

-- Work owed once. due and the lease are milliseconds since 1970; claim names who works on it.
CREATE TABLE tasks (
    id {{.Serial}},
    name {{.Key 64}} NOT NULL,
    payload {{.Body}} NOT NULL,
    tries {{.Int}} NOT NULL,
    due {{.Int}} NOT NULL,
    parked {{.Bool}} NOT NULL,
    claim {{.Key 36}} NOT NULL,
    reason {{.Text 1000}} NOT NULL
){{.Table}};

CREATE INDEX tasks_due ON tasks (parked, due, id);

CREATE TABLE servers (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    name {{.Key 255}} NOT NULL,
    started_at {{.Int}} NOT NULL,
    heartbeat_at {{.Int}} NOT NULL
){{.Table}};

CREATE TABLE chores (
    name {{.Key 64}} NOT NULL PRIMARY KEY,
    due {{.Int}} NOT NULL
){{.Table}};

INSERT INTO chores (name, due) VALUES ('prune', 0);

-- Integers that nobody uses, as ranges of 32 hexadecimal digits each, so that order in text is order in number.
CREATE TABLE free_range (
    pool {{.Key 128}} NOT NULL,
    first {{.Key 32}} NOT NULL,
    last {{.Key 32}} NOT NULL,
    PRIMARY KEY (pool, first)
){{.Narrow}};
