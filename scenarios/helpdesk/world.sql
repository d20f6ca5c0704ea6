-- The world of the help desk: who helps, what is known, what was asked for, and who has it in hand.
CREATE TABLE people (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  on_duty INTEGER NOT NULL CHECK (on_duty IN (0, 1)),
  most_tickets INTEGER NOT NULL
) STRICT;

CREATE TABLE skills (
  person TEXT NOT NULL REFERENCES people (id),
  skill TEXT NOT NULL,
  PRIMARY KEY (person, skill)
) STRICT;

-- Rows from articles.json. tags: a JSON list of texts; steps: a JSON list of texts. Not STRICT, for its JSON columns.
CREATE TABLE articles (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  tags JSON NOT NULL CHECK (json_type(tags) = 'array'),
  steps JSON NOT NULL CHECK (json_type(steps) = 'array'),
  for_staff BOOLEAN NOT NULL DEFAULT 0
);

CREATE TABLE tickets (
  id INTEGER PRIMARY KEY,
  subject TEXT NOT NULL,
  topic TEXT NOT NULL,
  priority TEXT NOT NULL DEFAULT 'normal' CHECK (priority IN ('low', 'normal', 'urgent')),
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed', 'merged')),
  customer JSON NOT NULL CHECK (json_type(customer, '$.email') = 'text'),
  opened_at TEXT NOT NULL,
  due_at TEXT NOT NULL,
  closed_at TEXT,
  resolution JSON,
  merged_into INTEGER REFERENCES tickets (id)
);

CREATE TABLE assignments (
  ticket INTEGER PRIMARY KEY REFERENCES tickets (id),
  person TEXT NOT NULL REFERENCES people (id),
  since TEXT NOT NULL
) STRICT;

CREATE TABLE comments (
  id INTEGER PRIMARY KEY,
  ticket INTEGER NOT NULL REFERENCES tickets (id),
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  internal BOOLEAN NOT NULL DEFAULT 0,
  at TEXT NOT NULL
);

-- What the ids of new tickets count on from.
INSERT INTO tickets (id, subject, topic, customer, opened_at, due_at) VALUES
  (1000, 'Badge does not open the garage', 'access', '{"email": "rolf@example.org"}', '2026-04-30T08:00:00Z', '2026-05-04T08:00:00Z');
