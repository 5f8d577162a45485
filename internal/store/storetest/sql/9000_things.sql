-- A table of the suite's own, as a resource's would be.
CREATE TABLE things (
    id {{.Key 36}} NOT NULL PRIMARY KEY,
    project_id {{.Key 255}} NOT NULL,
    revision {{.Int}} NOT NULL,
    body {{.Body}} NOT NULL,
    name {{.Text 255}},
    slot {{.Int}},
    up {{.Bool}} NOT NULL,
    secret {{.Text 255}} NOT NULL
){{.Table}};

CREATE UNIQUE INDEX things_project_id_name ON things (project_id, name);
CREATE UNIQUE INDEX things_slot ON things (slot);
