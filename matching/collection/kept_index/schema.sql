-- The pictures of a kept index. docs/kept-index.md explains it.

-- What the index was made with: format, results (JSON, numbers of stages), features (JSON), and the bits of its cells
-- (hexadecimal).
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Files of the folder, each of which holds the entries of some pictures and never changes.
CREATE TABLE segments (
    name TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE pictures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a picture that has changed gets a new one
    path TEXT NOT NULL UNIQUE,             -- absolute
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'indexed', 'failed')),
    bytes INTEGER,                         -- of the file when it was described
    modified INTEGER,                      -- time of the file, nanoseconds
    sha256 TEXT,
    n_entries INTEGER,
    segment TEXT REFERENCES segments (name),
    error TEXT,                            -- why it failed
    CHECK ((status = 'indexed') = (segment IS NOT NULL)),
    CHECK ((status = 'failed') = (error IS NOT NULL))
);
CREATE INDEX pictures_by_status ON pictures (status, id);
CREATE INDEX pictures_by_segment ON pictures (segment);

-- Pictures whose entries are still in a segment but no longer count: removed, changed, or written by another process.
CREATE TABLE dead (
    segment TEXT NOT NULL REFERENCES segments (name) ON DELETE CASCADE,
    picture INTEGER NOT NULL,
    PRIMARY KEY (segment, picture)
) WITHOUT ROWID;
