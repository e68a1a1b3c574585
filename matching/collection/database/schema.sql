-- The database of a collection. docs/collections.md explains it. Lengths and positions are pixels of the original
-- pictures as displayed (EXIF orientation applied), x to the right, y down, (0, 0) the centre of the top-left pixel.

-- What the results were made with: one row each for schema, version (of gdl-match), config (JSON of MatchConfig),
-- results (JSON, numbers of the stages) and programs (JSON, name: version; and the processor); and shortlist:... for
-- each shortlist that is complete.
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE images (
    id INTEGER PRIMARY KEY,                -- from 0, in the order in which the collection names them
    path TEXT NOT NULL UNIQUE,             -- absolute
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'described', 'failed')),
    sha256 TEXT,                           -- of the file; NULL where pending, or failed because it can't be read
    width INTEGER,
    height INTEGER,
    n_features INTEGER,
    error TEXT,                            -- why it failed
    CHECK ((status = 'failed') = (error IS NOT NULL)),
    CHECK ((status = 'described') = (n_features IS NOT NULL))
);

CREATE TABLE pairs (
    id INTEGER PRIMARY KEY,                -- from 0, in the order in which the collection names them
    image0 INTEGER NOT NULL REFERENCES images (id),
    image1 INTEGER NOT NULL REFERENCES images (id),
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'matched', 'failed')),
    n_candidates INTEGER,                  -- candidate correspondences
    n_matches INTEGER,                     -- how many of them were kept: rows of matches
    n_objects INTEGER,                     -- rows of objects
    score REAL,                            -- of the best object, 0 without one
    rank REAL,                             -- of the object that ranks highest: its score times the share that it covers
    error TEXT,                            -- why it failed
    UNIQUE (image0, image1),
    CHECK ((status = 'failed') = (error IS NOT NULL)),
    CHECK ((status = 'matched') = (score IS NOT NULL))
);
CREATE INDEX pairs_by_rank ON pairs (rank DESC, id);
CREATE INDEX pairs_by_image1 ON pairs (image1);

CREATE TABLE objects (
    pair INTEGER NOT NULL REFERENCES pairs (id) ON DELETE CASCADE,
    object INTEGER NOT NULL,               -- from 0, by descending score
    n_matches INTEGER NOT NULL,
    score REAL NOT NULL,                   -- connectivity
    log10_nfa REAL,                        -- log10 of the number of false alarms; NULL with the paper's grouping
    transform TEXT NOT NULL,               -- JSON, 3 x 3; takes homogeneous pixels of image0 to image1
    transform_kind TEXT NOT NULL,          -- homography or affine
    transform_error REAL NOT NULL,         -- median distance, pixels of image1
    transform_covariance TEXT,             -- JSON, 8 x 8, of its first entries row by row, the last being 1; or NULL
    outline0 TEXT NOT NULL,                -- JSON, [[x, y], ...], polygon in image0
    outline1 TEXT NOT NULL,                -- the same in image1
    same INTEGER,                          -- 1 if both show the same print, 0 if it differs; NULL if it can't be told
    doubtful INTEGER,                      -- 1 if what lies between the matches leaves doubt; null without pixels
    differences TEXT NOT NULL,             -- JSON, list of places that differ: polygon0, polygon1, share, ...
    record TEXT NOT NULL,                  -- JSON, all that is known of the object but its matches
    PRIMARY KEY (pair, object)
) WITHOUT ROWID;

CREATE TABLE matches (
    pair INTEGER NOT NULL,
    candidate INTEGER NOT NULL,            -- its row among the pair's candidates, as in matches.npz
    object INTEGER NOT NULL,
    x0 REAL NOT NULL,
    y0 REAL NOT NULL,
    x1 REAL NOT NULL,
    y1 REAL NOT NULL,
    score REAL NOT NULL,                   -- descriptor distance; smaller is better
    PRIMARY KEY (pair, candidate),
    FOREIGN KEY (pair, object) REFERENCES objects (pair, object) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX matches_by_object ON matches (pair, object);

-- How long each stage of a pair took: the only part of a database that differs from run to run.
CREATE TABLE timings (
    pair INTEGER NOT NULL REFERENCES pairs (id) ON DELETE CASCADE,
    stage TEXT NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (pair, stage)
) WITHOUT ROWID;

-- Pairs with their paths, for a look with the sqlite3 shell.
CREATE VIEW results AS
SELECT pairs.id AS pair, first.path AS path0, second.path AS path1, pairs.status, pairs.score, pairs.rank,
       pairs.n_objects, pairs.n_matches, pairs.error
FROM pairs
JOIN images AS first ON first.id = pairs.image0
JOIN images AS second ON second.id = pairs.image1;
